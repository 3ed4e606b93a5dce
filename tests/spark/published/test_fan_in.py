"""Regions that append to one table, and an archive that is loaded once."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.published.conftest import Published

Row = dict[str, Any]


@pytest.mark.slow  # test_update.py has several flows into one table, of which one is loaded once
def test_append_flows_and_a_backfill(published: Published) -> None:
    pipeline = published("regional_fan_in")
    archive = pipeline.directory / "data" / "archive"
    archive.mkdir(parents=True, exist_ok=True)
    old: list[Row] = [{"order_id": f"old{n}", "region": "eu", "amount": 1.5 * n} for n in range(5)]
    pq.write_table(pa.Table.from_pylist(old), archive / "2024.parquet")
    expected: list[Row] = [row | {"loaded_from": "archive"} for row in old]
    chance = random.Random(4)
    for day in range(2):
        for region in ("us_west", "us_east", "eu"):
            orders = [
                {"id": None if n == 3 else f"{region}{day}{n}", "amount": chance.choice((None, 5, 7.25))}
                for n in range(6)
            ]
            pipeline.json(f"{region}/{day}.json", orders)
            expected += [
                {"order_id": each["id"], "region": region, "amount": each["amount"], "loaded_from": "stream"}
                for each in orders
                if each["id"] is not None
            ]
        pipeline.run()  # the second update must not load the archive again
    pipeline.check("all_orders", expected)
    amounts: dict[str, list[float]] = defaultdict(list)
    for row in expected:
        amounts[row["region"]].append(row["amount"] or 0.0)
    pipeline.check(
        "revenue_by_region",
        [{"region": region, "revenue": sum(each), "orders": len(each)} for region, each in amounts.items()],
    )
