"""The stateful pipelines of three how-to pages as one, rows for their sources, and their tables in plain Python."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.repo.documents import ROOT, blocks

START = datetime(2026, 1, 1, tzinfo=UTC)
PAGES = ("windows", "deduplicate", "join-streams")

Row = dict[str, Any]
Fed = tuple[str, Row]
"""A source, and a row for it."""


def pipeline_of(*tables: str, pages: tuple[str, ...] = PAGES) -> str:
    """Returns the code of the pages, of whose tables only these are left."""
    files = [ROOT / f"docs/how-to/{page}.md" for page in pages]
    text = "\n".join(block.text for file in files for block in blocks(file) if block.marks)
    kept = [node for node in ast.parse(text).body if not _is_table(node) or getattr(node, "name", "") in tables]
    found = {node.name for node in kept if isinstance(node, ast.FunctionDef)}
    assert found >= set(tables), set(tables) - found
    return ast.unparse(ast.Module(kept, []))


def _is_table(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef) and any("ps.table" in ast.unparse(each) for each in node.decorator_list)


def at(minute: float) -> datetime:
    """Returns the moment `minute` minutes after the first of all."""
    return START + timedelta(minutes=minute)


def sale(sale_id: str, shop: str, amount: float, minute: float) -> Fed:
    """A row of the page about windows."""
    return "sales", {"id": sale_id, "shop": shop, "amount": amount, "sold_at": at(minute)}


def message(message_id: str, minute: float, amount: float = 1.0) -> Fed:
    """A row of the page about duplicates."""
    return "messages", {"id": message_id, "amount": amount, "sent_at": at(minute)}


def order(order_id: str, customer: str, minute: float) -> Fed:
    """A row of the page about joins."""
    return "orders", {"order_id": order_id, "customer": customer, "ordered_at": at(minute)}


def payment(paid_order: str, minute: float) -> Fed:
    """A row of the other side of its joins."""
    return "payments", {"paid_order": paid_order, "paid_at": at(minute)}


def customer(customer: str, segment: str) -> Fed:
    """A row of the table that orders are joined with."""
    return "customers", {"customer": customer, "segment": segment}


# In an order in which no row is late, however it is cut: none is further behind the newest before it than the delay.
ROWS: list[Fed] = [
    sale("s1", "a", 10, 5),
    message("m1", 0),
    order("o1", "c1", 5),
    message("m2", 10, 2.0),
    message("m1", 0),
    sale("s2", "b", 20, 8),
    payment("o1", 15),
    sale("s3", "a", 5, 12),
    sale("s3", "a", 5, 12),
    order("o2", "c2", 20),
    payment("o1", 30),
    message("m1", 45),
    sale("s4", "a", 7, 58),
    order("o3", "c1", 40),
    sale("s5", "b", 9, 55),
    order("o4", "c2", 50),
    message("m3", 70),
    sale("s6", "a", 30, 65),
    payment("nobody", 60),
    sale("s7", "a", 1, 61),
    message("m2", 40, 2.0),
    payment("o2", 90),
    sale("s8", "b", 2, 125),
    message("m3", 70),
    payment("o3", 100),
    sale("s9", "a", 3, 118),
]
LAST: list[Fed] = [sale("last", "b", 4, 130), message("last", 130), order("last", "c1", 130), payment("last", 130)]
CUSTOMERS = [customer("c1", "gold")]
END = at(600)
"""A watermark that closes everything."""
LATE: list[Fed] = [sale("late", "a", 99, 31), message("late", 3), order("late", "c1", 7), payment("late", 8)]
"""Rows behind that watermark."""
LATE_IN = {
    "hours": ["aggregate"],
    "sliding_hours": ["aggregate", "aggregate"],
    "rushes": ["aggregate"],
    "sales_of_hours": ["deduplicate"],
    "best_ten_minutes": ["aggregate"],
    "sent_once": ["deduplicate"],
    "told_once": ["deduplicate within watermark"],
    **{
        table: ["stream-stream join, left side", "stream-stream join, right side"]
        for table in (
            "paid_orders",
            "orders_and_payments",
            "payments_and_orders",
            "all_orders_and_payments",
            "orders_that_were_paid",
            "orders_and_payments_soon",
            "paid_hours",
        )
    },
}
"""The operators that drop them, by table."""


class Expected:
    """What the tables hold of rows that were all in time, when all windows are closed."""

    def __init__(self, rows: Iterable[Fed]) -> None:
        given: dict[str, list[Row]] = defaultdict(list)
        for source, row in rows:
            given[source].append(row)
        self.sales, self.messages = given["sales"], given["messages"]
        self.orders, self.payments = given["orders"], given["payments"]
        self.customers = given["customers"]

    def of(self, table: str) -> list[Row]:
        """Returns the rows of a table."""
        made: Callable[[], Iterator[Row]] = getattr(self, f"_{table}")
        return list(made())

    def _customers(self) -> Iterator[Row]:
        yield from self.customers

    def _hours(self) -> Iterator[Row]:
        for (hour, shop), amounts in _grouped(self.sales, lambda row: (_floor(row["sold_at"], 60), row["shop"])):
            sums = {"sales": len(amounts), "revenue": sum(amounts), "largest": max(amounts)}
            yield {"hour": hour, "shop": shop, **sums}

    def _sliding_hours(self) -> Iterator[Row]:
        halves = [(row, _floor(row["sold_at"], 30) - timedelta(minutes=back)) for row in self.sales for back in (0, 30)]
        for start in {start for _, start in halves}:
            revenue = sum(row["amount"] for row, of_row in halves if of_row == start)
            yield {"start": start, "end": start + timedelta(hours=1), "revenue": revenue}

    def _rushes(self) -> Iterator[Row]:
        gap = timedelta(minutes=30)
        for shop in {row["shop"] for row in self.sales}:
            times = sorted(row["sold_at"] for row in self.sales if row["shop"] == shop)
            first = [n for n, time in enumerate(times) if n == 0 or time > times[n - 1] + gap]
            for start, end in zip(first, [*first[1:], len(times)], strict=True):
                yield {"shop": shop, "start": times[start], "end": times[end - 1] + gap, "sales": end - start}

    def _sales_of_hours(self) -> Iterator[Row]:
        once = list({(row["id"], row["sold_at"]): row for row in self.sales}.values())
        for hour, amounts in _grouped(once, lambda row: _floor(row["sold_at"], 60)):
            yield {"hour": hour, "sales": len(amounts)}

    def _best_ten_minutes(self) -> Iterator[Row]:
        best: dict[datetime, float] = {}
        for start, amounts in _grouped(self.sales, lambda row: _floor(row["sold_at"], 10)):
            best[_floor(start, 60)] = max(best.get(_floor(start, 60), 0), sum(amounts))
        yield from ({"hour": hour, "best": revenue} for hour, revenue in best.items())

    def _sent_once(self) -> Iterator[Row]:
        yield from {(row["id"], row["sent_at"]): row for row in self.messages}.values()

    def _told_once(self) -> Iterator[Row]:
        yield from ({"id": each} for each in {row["id"] for row in self.messages})

    def _orders_of_segments(self) -> Iterator[Row]:
        segments = {row["customer"]: row["segment"] for row in self.customers}
        yield from ({**row, "segment": segments.get(row["customer"])} for row in self.orders)

    def _paid_orders(self) -> Iterator[Row]:
        for each in self.orders:
            for paid in self.payments:
                after = paid["paid_at"] - each["ordered_at"]
                if each["order_id"] == paid["paid_order"] and timedelta() <= after <= timedelta(hours=1):
                    yield {**each, **paid}

    def _orders_and_payments(self) -> Iterator[Row]:
        pairs = list(self._paid_orders())
        yield from pairs
        found = {row["order_id"] for row in pairs}
        yield from ({**row, "paid_order": None, "paid_at": None} for row in self.orders if row["order_id"] not in found)

    _orders_and_payments_soon = _orders_and_payments

    def _payments_and_orders(self) -> Iterator[Row]:
        pairs = list(self._paid_orders())
        yield from pairs
        found = {(row["paid_order"], row["paid_at"]) for row in pairs}
        alone = [row for row in self.payments if (row["paid_order"], row["paid_at"]) not in found]
        yield from ({"order_id": None, "customer": None, "ordered_at": None, **row} for row in alone)

    def _all_orders_and_payments(self) -> Iterator[Row]:
        yield from self._orders_and_payments()
        yield from (row for row in self._payments_and_orders() if row["order_id"] is None)

    def _orders_that_were_paid(self) -> Iterator[Row]:
        paid = {row["order_id"] for row in self._paid_orders()}
        yield from (row for row in self.orders if row["order_id"] in paid)

    def _paid_hours(self) -> Iterator[Row]:
        times = [_floor(row["ordered_at"], 60) for row in self._paid_orders()]
        yield from ({"hour": hour, "paid": times.count(hour)} for hour in set(times))


def _floor(time: datetime, minutes: int) -> datetime:
    return START + (time - START) // timedelta(minutes=minutes) * timedelta(minutes=minutes)


def _grouped(rows: Iterable[Row], key: Callable[[Row], Any]) -> Iterator[tuple[Any, list[float]]]:
    amounts: dict[Any, list[float]] = defaultdict(list)
    for row in rows:
        amounts[key(row)].append(row["amount"])
    yield from amounts.items()
