"""A trading company: its tables, made of numbers, views over them, and what changes in a day."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import SparkSession

_LINES_OF_AN_ORDER: Final = 4

_CUSTOMERS: Final = """
    SELECT id AS customer, concat('customer ', id) AS name, id % 25 AS nation,
        element_at(array('retail', 'trade', 'state', 'export', 'staff'), 1 + int(pmod(xxhash64(id, 1), 5))) AS segment
    FROM range({customers})
"""
_NATIONS: Final = "SELECT id AS nation, concat('nation ', id) AS nation_name, id % 5 AS region FROM range(25)"
_PARTS: Final = """
    SELECT id AS part, concat('brand ', id % 30) AS brand, concat('kind ', id % 7) AS kind,
        pmod(xxhash64(id, 2), 50) AS size
    FROM range({parts})
"""
_ORDERS: Final = """
    SELECT id AS order_id, pmod(xxhash64(id, 3), {customers}) * 3 DIV 4 AS customer,
        date_add(DATE'2022-01-01', int(id * 1000 DIV {all})) AS ordered, pmod(xxhash64(id, 4), 5) AS priority,
        IF(pmod(xxhash64(id, 5), 20) = 0, 'cancelled', 'placed') AS status
    FROM range({first}, {last})
"""
_LINES: Final = """
    SELECT id DIV 4 AS order_id, id % 4 AS line, pmod(xxhash64(id, 6), {parts}) AS part,
        pmod(xxhash64(id, 7), 1000) AS supplier, 1 + pmod(xxhash64(id, 8), 50) AS quantity,
        CAST(100 + pmod(xxhash64(id, 9), 90000) / 100.0 AS DECIMAL(12,2)) AS price,
        CAST(pmod(xxhash64(id, 10), 11) / 100.0 AS DECIMAL(4,2)) AS discount,
        element_at(array('kept', 'returned', 'open'), 1 + int(pmod(xxhash64(id, 11), 3))) AS state,
        int(pmod(xxhash64(id, 12), 60)) AS days_to_ship
    FROM range({first}, {last})
"""

VIEWS: Final[Mapping[str, str]] = {
    "sums, averages and counts of lines by state": """
        SELECT state, sum(quantity) AS quantity, sum(price * (1 - discount)) AS revenue, avg(quantity) AS mean,
            count(quantity) AS lines, max(price) AS dearest
        FROM {lines} GROUP BY state""",
    "revenue by nation and month, of four tables": """
        SELECT n.nation_name, date_trunc('MONTH', o.ordered) AS month, sum(l.price * (1 - l.discount)) AS revenue
        FROM {lines} l JOIN {orders} o USING (order_id) JOIN {customers} c USING (customer) JOIN {nations} n
            USING (nation)
        GROUP BY n.nation_name, date_trunc('MONTH', o.ordered)""",
    "lines of placed orders with their part": """
        SELECT l.order_id, l.line, o.customer, o.ordered, p.brand, l.price * l.quantity AS value
        FROM {lines} l JOIN {orders} o USING (order_id) JOIN {parts} p USING (part) WHERE o.status = 'placed'""",
    "large orders, HAVING": """
        SELECT order_id, sum(quantity) AS quantity FROM {lines} GROUP BY order_id HAVING sum(quantity) > 160""",
    "top 3 orders of each customer, by value": """
        SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY customer ORDER BY value DESC, order_id) AS place
            FROM (SELECT o.customer, o.order_id, sum(l.price * l.quantity) AS value
                FROM {orders} o JOIN {lines} l USING (order_id) GROUP BY o.customer, o.order_id))
        WHERE place <= 3""",
    "orders with a late line, LEFT SEMI": """
        SELECT order_id, priority FROM {orders} LEFT SEMI JOIN (SELECT order_id FROM {lines} WHERE days_to_ship > 55)
            USING (order_id)""",
    "customers without an order, LEFT ANTI": """
        SELECT customer, name FROM {customers} LEFT ANTI JOIN {orders} USING (customer)""",
    "suppliers of each brand, count DISTINCT": """
        SELECT p.brand, p.kind, count(DISTINCT l.supplier) AS suppliers
        FROM {lines} l JOIN {parts} p USING (part) GROUP BY p.brand, p.kind""",
    "parts that were returned, DISTINCT": """
        SELECT DISTINCT part FROM {lines} WHERE state = 'returned' AND discount > 0.08""",
    "orders of each customer so far, window": """
        SELECT order_id, customer, ordered, count(*) OVER (PARTITION BY customer ORDER BY ordered, order_id) AS so_far
        FROM {orders}""",
    "customers by their number of orders": """
        SELECT orders, count(*) AS customers FROM (SELECT c.customer, count(o.order_id) AS orders
            FROM {customers} c LEFT JOIN {orders} o USING (customer) GROUP BY c.customer) GROUP BY orders""",
    "the 10 dearest lines, LIMIT": """
        SELECT order_id, line, price FROM {lines} ORDER BY price DESC, order_id, line LIMIT 10""",
}


@dataclass(slots=True)
class Company:
    """The tables at `places`, which begin with `lines` order lines and grow."""

    spark: SparkSession
    places: Mapping[str, str]
    lines: int
    _orders: int = 0
    _day: int = 0

    def found(self) -> None:
        """Writes the tables as they are at the beginning."""
        for name, query in {"customers": _CUSTOMERS, "nations": _NATIONS, "parts": _PARTS}.items():
            self._write(name, query)
        self._new(self._share(1.0))

    @property
    def changes(self) -> Mapping[str, Callable[[], None]]:
        """What can change in a day, by what it is called."""
        return {
            "0.1 % new orders": lambda: self._new(self._share(0.001)),
            "1 % new orders": lambda: self._new(self._share(0.01)),
            "0.1 % of the orders deleted": self._delete,
            "60 % new orders": lambda: self._new(self._share(0.6)),
        }

    def _share(self, share: float) -> int:
        return max(int(self.lines // _LINES_OF_AN_ORDER * share), 1)

    def _new(self, orders: int) -> None:
        first, self._orders = self._orders, self._orders + orders
        self._write("orders", _ORDERS, first, self._orders)
        self._write("lines", _LINES, first * _LINES_OF_AN_ORDER, self._orders * _LINES_OF_AN_ORDER)

    def _delete(self) -> None:
        """Deletes orders that are near to each other, as those of a day are."""
        self._day += 1
        begin = self._orders * self._day // 10
        for table in ("lines", "orders"):
            gone = f"order_id BETWEEN {begin} AND {begin + self._share(0.001) - 1}"
            self.spark.sql(f"DELETE FROM delta.`{self.places[table]}` WHERE {gone}")

    def _write(self, name: str, query: str, first: int = 0, last: int = 0) -> None:
        customers, parts = max(self.lines // 40, 10), max(self.lines // 30, 10)
        text = query.format(customers=customers, parts=parts, first=first, last=last, all=max(self._share(1.0), 1))
        rows = self.spark.sql(text)
        files = rows if first == 0 else rows.coalesce(1)
        files.write.format("delta").mode("append").save(self.places[name])


def table_names() -> Iterator[str]:
    """Yields the names of the tables."""
    yield from ("customers", "nations", "parts", "orders", "lines")
