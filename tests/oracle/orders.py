"""What the orders pipelines must produce, computed from their input alone: no Spark, and no code of Penstock.

An input is a list of lines in the order of arrival: a mapping, or None for a line that is no JSON.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Order = Mapping[str, Any]
Line = Order | None
Rows = list[dict[str, Any]]
Group = tuple[Any, ...]
HOUR = timedelta(hours=1)

QUICKSTART_COLUMNS = ("order_id", "customer_id", "product", "quantity", "amount", "order_time", "sent_at")
QUICKSTART_DELAY = timedelta(minutes=10)
SEED_DELAY = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Expected:
    """The tables of the quickstart, and how often each expectation of its silver table failed."""

    bronze_orders: Rows
    broken_lines: int
    silver_orders: Rows
    hourly_revenue: Rows
    top_products: Rows
    failed: Mapping[str, int]

    @property
    def dropped(self) -> int:
        """How many rows the silver table's `expect_or_drop` rules took out."""
        return len(self.bronze_orders) - len(self.silver_orders)


def lines_of(folder: Path) -> list[Line]:
    """Reads every `*.json` file of the folder, in the order of their names."""
    return [_parsed(text) for path in sorted(folder.glob("*.json")) for text in path.read_text().splitlines()]


def quickstart(lines: Sequence[Line]) -> Expected:
    """Computes the tables that `penstock init` promises.

    Raises:
        ValueError: A row arrives so late that `hourly_revenue` depends on how the input is cut into batches;
            generate the input with `--late 0`.
    """
    bronze = [_typed(line) for line in lines]
    rules: dict[str, Callable[[Order], bool]] = {
        "readable": lambda row: row["order_id"] is not None,
        "positive_amount": lambda row: _is_positive(row["amount"]),
        "known_customer": lambda row: row["customer_id"] is not None,
        "sent_within_an_hour": lambda row: row["order_time"] is not None and row["order_time"] >= row["sent_at"] - HOUR,
    }
    dropping = ("readable", "positive_amount", "known_customer")
    silver = [row for row in bronze if all(rules[name](row) for name in dropping)]
    _require_order(silver, QUICKSTART_DELAY)
    hours = [
        {"hour": start, "orders": count, "revenue": revenue}
        for (start,), count, revenue in _revenue(silver, lambda row: (_hour(row["order_time"]),))
        if start + HOUR <= watermark(silver, QUICKSTART_DELAY)
    ]
    products = [
        {"product": product, "orders": count, "revenue": revenue}
        for (product,), count, revenue in _revenue(silver, lambda row: (row["product"],))
    ]
    failed = {name: sum(not rule(row) for row in bronze) for name, rule in rules.items()}
    return Expected(bronze, sum(line is None for line in lines), silver, hours, products, failed)


def seed_pipeline(messages: Sequence[Line]) -> tuple[Rows, Rows]:
    """Computes silver (without `processed_at`) and gold of the seed's pipeline from the messages of its topic.

    Raises:
        ValueError: As `quickstart`, for a lateness of more than an hour.
    """
    columns = ("order_id", "customer_id", "product", "amount", "order_time")
    rows = [{name: (message or {}).get(name) for name in columns} for message in messages]
    silver = [row for row in rows if _is_positive(row["amount"]) and row["customer_id"] is not None]
    for row in silver:
        row["order_time"] = _moment(row["order_time"])
    _require_order(silver, SEED_DELAY)
    gold = [
        {
            "window": {"start": start, "end": start + HOUR},
            "product": product,
            "order_count": count,
            "total_revenue": revenue,
        }
        for (start, product), count, revenue in _revenue(silver, lambda row: (_hour(row["order_time"]), row["product"]))
        if start + HOUR <= watermark(silver, SEED_DELAY)
    ]
    return silver, gold


def watermark(rows: Iterable[Order], delay: timedelta) -> datetime:
    """Returns the watermark after all rows: the newest event time less the delay; without rows the epoch."""
    newest = max((row["order_time"] for row in rows), default=None)
    return newest - delay if newest is not None else datetime.fromtimestamp(0, UTC)


def _revenue(
    rows: Iterable[Order], key: Callable[[Order], tuple[Any, ...]]
) -> list[tuple[tuple[Any, ...], int, float]]:
    amounts: dict[Group, list[float]] = defaultdict(list)
    for row in rows:
        amounts[key(row)].append(row["amount"])
    return [(group, len(values), round(sum(values), 2)) for group, values in sorted(amounts.items())]


def _require_order(rows: Sequence[Order], delay: timedelta) -> None:
    newest = datetime.fromtimestamp(0, UTC)
    for row in rows:
        if _hour(row["order_time"]) + HOUR <= newest - delay:
            raise ValueError(f"{row['order_id']} is late; the gold table would depend on the batches")
        newest = max(newest, row["order_time"])


def _parsed(text: str) -> Line:
    try:
        parsed = json.loads(text)
    except json.JSONDecodeError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _typed(line: Line) -> dict[str, Any]:
    row = {name: (line or {}).get(name) for name in QUICKSTART_COLUMNS}
    for name in ("order_time", "sent_at"):
        row[name] = _moment(row[name])
    return row


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text.replace("Z", "+00:00"))


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def _is_positive(amount: float | None) -> bool:
    return amount is not None and amount > 0
