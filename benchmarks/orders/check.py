"""Whether a system produced the right tables: without that, its time means nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from benchmarks.orders.generator import GoldRow, Truth

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Tables:
    """Where a system left its Delta tables. `all_windows` says whether gold holds the open windows too."""

    bronze: Path
    silver: Path
    gold: Path
    all_windows: bool


def problems(tables: Tables, truth: Truth) -> list[str]:
    """Returns what is wrong with the tables, as lines to read; none when all is right.

    The gold table has the columns window_start, product, orders and revenue.
    """
    found: list[str] = []
    for name, path, expected in (
        ("bronze", tables.bronze, truth.bronze_rows),
        ("silver", tables.silver, truth.silver_rows),
    ):
        ids = DeltaTable(str(path)).to_pyarrow_table(columns=["order_id"])["order_id"]
        distinct = len(ids.unique())
        if len(ids) != expected or distinct != expected:
            found.append(f"{name}: {len(ids)} rows with {distinct} ids, {expected} expected")
    rows = DeltaTable(str(tables.gold)).to_pyarrow_table().to_pylist()
    gold = {_gold_row(row) for row in rows}
    wanted = truth.gold if tables.all_windows else truth.closed
    if len(rows) != len(gold):
        found.append(f"gold: {len(rows) - len(gold)} rows twice")
    for word, difference in (("missing", wanted - gold), ("not expected", gold - wanted)):
        if difference:
            first = sorted(difference, key=lambda row: (row.start, row.product))[:_SHOWN]
            found.append(f"gold: {len(difference)} rows {word}, the first: {first}")
    return found


def _gold_row(row: dict[str, Any]) -> GoldRow:
    return GoldRow(int(row["window_start"].timestamp()), row["product"], row["orders"], round(row["revenue"] * 100))
