"""What the run of the pipeline of `penstock init` must have written, computed in plain Python from its input."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from deltalake import DeltaTable

from benchmarks.differences import Rows, differences

_WATERMARK_DELAY = timedelta(minutes=10)
_HOUR = timedelta(hours=1)


class _Order(NamedTuple):
    """A line that can be read; one that cannot has only None."""

    order_id: str | None = None
    customer_id: str | None = None
    product: str | None = None
    amount: float | None = None
    order_time: datetime | None = None

    @property
    def is_good(self) -> bool:
        return None not in (self.order_id, self.customer_id, self.amount) and self.cents > 0

    @property
    def cents(self) -> int:
        return round((self.amount or 0) * 100)


def problems(project: Path) -> list[str]:
    """Returns what is wrong with the tables of this project, as lines to read; none when all is right."""
    bronze = list(_orders(project / "data" / "orders"))
    silver = [order for order in bronze if order.is_good]
    expected = {
        "bronze_orders": Counter(map(tuple, bronze)),
        "silver_orders": Counter(map(tuple, silver)),
        "hourly_revenue": _closed_hours(silver),
        "top_products": _totals((order.product, order) for order in silver),
    }
    tables = project / ".penstock" / "tables" / "shop"
    found = {
        "bronze_orders": _rows(tables / "bronze_orders", _Order._fields),
        "silver_orders": _rows(tables / "silver_orders", _Order._fields),
        "hourly_revenue": _in_cents(_rows(tables / "hourly_revenue", ("hour", "orders", "revenue"))),
        "top_products": _in_cents(_rows(tables / "top_products", ("product", "orders", "revenue"))),
    }
    return [line for name in expected for line in differences(name, found[name], expected[name])]


def _orders(folder: Path) -> Iterator[_Order]:
    for file in sorted(folder.glob("*.json")):
        for line in file.read_text().splitlines():
            try:
                order = json.loads(line)
            except json.JSONDecodeError:  # cut in the middle on purpose
                yield _Order()
                continue
            moment = datetime.fromisoformat(order["order_time"])
            yield _Order(order["order_id"], order["customer_id"], order["product"], order["amount"], moment)


def _closed_hours(silver: Sequence[_Order]) -> Rows:
    """The hours that the watermark has passed at the end; in the one batch before that, no row is late."""
    timed = [(order.order_time, order) for order in silver if order.order_time is not None]
    watermark = max(moment for moment, _ in timed) - _WATERMARK_DELAY
    hours = ((moment.replace(minute=0, second=0), order) for moment, order in timed)
    return _totals((hour, order) for hour, order in hours if hour + _HOUR <= watermark)


def _totals(orders: Iterator[tuple[Any, _Order]]) -> Rows:
    """Returns each group with its number of orders and its revenue in cents."""
    counts: Counter[Any] = Counter()
    cents: Counter[Any] = Counter()
    for group, order in orders:
        counts[group] += 1
        cents[group] += order.cents
    return Counter((group, counts[group], cents[group]) for group in counts)


def _rows(table: Path, columns: Sequence[str]) -> Rows:
    found = DeltaTable(str(table)).to_pyarrow_table(columns=list(columns))
    return Counter(zip(*(found[name].to_pylist() for name in columns), strict=True))


def _in_cents(rows: Rows) -> Rows:
    return Counter((group, orders, round(revenue * 100)) for group, orders, revenue in rows.elements())
