CREATE MATERIALIZED VIEW hours_by_team
AS SELECT team, round(sum(hours), 3) AS hours, count_if(closed) AS closed FROM LIVE.silver GROUP BY team;

CREATE MATERIALIZED VIEW oldest_open (CONSTRAINT is_open EXPECT (NOT closed) ON VIOLATION FAIL UPDATE)
AS SELECT id, team, closed FROM open_tickets ORDER BY hours DESC, id LIMIT 4;
