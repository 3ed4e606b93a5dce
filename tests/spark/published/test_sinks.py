"""Orders that leave the pipeline: to another Delta table, to files, to a function."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from typing import Any

import pytest
from tests.oracle.tables import assert_table
from tests.spark.published.conftest import Published

Row = dict[str, Any]


@pytest.mark.slow  # tests/spark/runtime/test_sinks.py has such sinks
def test_sinks(published: Published) -> None:
    pipeline = published("order_sinks")
    shared = pipeline.directory / "shared"
    chance = random.Random(81)
    arrivals: list[list[Row]] = [
        [
            {"id": None if n == 4 else n, "amount": float(chance.randrange(0, 100)), "partner": chance.choice("AB")}
            for n in range(start, start + 15)
        ]
        for start in (0, 15)
    ]
    arrivals[1][3]["partner"] = None
    for day, orders in enumerate(arrivals):
        pipeline.json(f"orders/{day}.json", orders)
        pipeline.run(overrides={"sinks.shared": str(shared)})

    orders = [order for arrival in arrivals for order in arrival if order["id"] is not None]
    big = [{"id": order["id"], "amount": order["amount"]} for order in orders if order["amount"] >= 50]
    assert_table(shared / "big_orders", big)
    lines = [json.loads(line) for file in shared.glob("partner/*.json") for line in file.read_text().splitlines()]
    partners = [{"partner": o["partner"], "order_id": o["id"]} for o in orders if o["partner"] is not None]
    assert_table(lines, partners)
    totals: dict[tuple[str | None, int], float] = defaultdict(float)
    for batch, arrival in enumerate(arrivals):
        for order in arrival:
            if order["id"] is not None:
                totals[order["partner"], batch] += order["amount"]
    expected = [{"partner": partner, "amount": total, "batch": batch} for (partner, batch), total in totals.items()]
    assert_table(shared / "batches", expected)
