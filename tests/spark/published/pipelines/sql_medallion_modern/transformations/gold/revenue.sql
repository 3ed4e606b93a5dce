/* gold /* nested comments */ are legal */
CREATE OR REFRESH MATERIALIZED VIEW revenue_by_day
CLUSTER BY (day)
AS WITH priced AS (
  SELECT i.day, p.category, i.price, p.weight
  FROM main.sales.items AS i LEFT JOIN sales.products p USING (sku)
)
SELECT day, coalesce(category, 'unknown; new') AS category, sum(price) AS revenue, sum(weight) AS weight
FROM priced GROUP BY ALL;

CREATE MATERIALIZED VIEW IF NOT EXISTS best_customers AS
SELECT customer, revenue FROM (
  SELECT customer, revenue, rank() OVER (ORDER BY revenue DESC) AS place
  FROM (SELECT customer, sum(price) AS revenue FROM items GROUP BY customer)
) WHERE place <= 2
