"""What the other pages keep in state, in any batches: output modes, a join that nothing bounds, one with itself.

Each cut has a restart and a crash in it, and gives what plain Python and one batch over all rows give.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.repo.documents import ROOT, blocks
from tests.spark.stateful.examples import END, at, pipeline_of

from penstock import testing

QUICK = {"spark.sql.shuffle.partitions": "1"}
Order = tuple[str, float, int]
ORDERS: list[Order] = [("a", 10, 5), ("b", 200, 20), ("a", 150, 58), ("c", 7, 70), ("a", 1, 61), ("b", 120, 130)]
LAST: Order = ("c", 3, 135)
"""Fed alone at the end: Spark closes nothing before a query has run a batch since its start."""
BY_WINDOW = ("revenue_now", "revenue_of_closed_hours")
States = tuple[str, dict[str, Any]]


def state(number: int, word: str, minute: int) -> States:
    return "states", {"id": number, "state": word, "at": at(minute)}


# Of the streams of a join, in an order in which nothing is late.
JOINED: list[States] = [
    ("shops", {"shop": "s1", "owner": "ann"}),
    state(1, "paid", 0),
    ("owners", {"owner": "bob", "name": "Bob"}),
    state(1, "sent", 20),
    state(2, "paid", 30),
    ("owners", {"owner": "ann", "name": "Ann"}),
    ("shops", {"shop": "s2", "owner": "bob"}),
    state(3, "sent", 40),
    state(3, "paid", 35),
    ("shops", {"shop": "s3", "owner": "eve"}),
    state(2, "sent", 85),
]
STATES = """
@ps.table
def states():
    return spark.readStream.schema("id LONG, state STRING, at TIMESTAMP").json("states")

"""


def _chances(batches: list[Any]) -> tuple[int, int]:
    chance = random.Random(len(batches))
    return chance.randrange(len(batches)), chance.randrange(len(batches))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("batches", testing.batch_splits(ORDERS, 2), ids=lambda each: f"{len(each)} batches")
def test_output_modes_in_any_batches(spark: SparkSession, tmp_path: Path, batches: list[list[Order]]) -> None:
    file, (crash, restart) = tmp_path / "shop.py", _chances(batches)
    file.write_text(pipeline_of(*BY_WINDOW, "revenue_of_shops", pages=("output-modes",)), encoding="utf-8")
    hours: Counter[tuple[int, str]] = Counter()
    for shop, _, minute in [*ORDERS, LAST]:
        hours[minute // 60, shop] += 1
    with testing.pipeline(file, configuration=QUICK) as shops:
        for number, batch in enumerate([*batches, [LAST]]):
            for shop, amount, minute in batch:
                shops.feed("orders", {"shop": shop, "amount": amount, "ordered_at": at(minute)})
            if number == crash:
                shops.feed("orders", [testing.CRASH])
            shops.step()
            if number == restart:
                shops.restart()
        shops.advance_watermark(to=END)
        windows = [{"shop": shop, "orders": n} for (_, shop), n in hours.items()]
        for table in BY_WINDOW:
            testing.assert_table(shops, table, windows)
        revenue: Counter[str] = Counter()
        for shop, amount, _ in [*ORDERS, LAST]:
            revenue[shop] += int(amount)
        testing.assert_table(shops, "revenue_of_shops", [{"shop": shop, "revenue": n} for shop, n in revenue.items()])
        large = Counter(shop for shop, amount, _ in [*ORDERS, LAST] if amount > 100)
        every = Counter(shop for shop, _, _ in [*ORDERS, LAST])
        counted = {"orders": every, "large orders": large}
        testing.assert_table(
            shops,
            "counts",
            [{"counted": word, "shop": shop, "count": n} for word, of in counted.items() for shop, n in of.items()],
        )
        for table in (*BY_WINDOW, "revenue_of_shops", "counts"):
            testing.assert_parity(shops, table)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("batches", testing.batch_splits(JOINED, 3, seed=7), ids=lambda each: f"{len(each)} batches")
def test_joins_without_a_bound_and_with_itself(
    spark: SparkSession, tmp_path: Path, batches: list[list[States]]
) -> None:
    page = blocks(ROOT / "docs/how-to/join-streams.md")
    [with_itself] = [block.text for block in page if "def sent_in_time" in block.text]
    file, (crash, restart) = tmp_path / "shop.py", _chances(batches)
    file.write_text(pipeline_of("shops_with_owners") + STATES + with_itself, encoding="utf-8")
    with testing.pipeline(file, configuration=QUICK) as shop:
        for number, batch in enumerate(batches):
            for source, row in batch:
                if source == "states":
                    shop.feed(source, row)
                else:
                    shop.feed("shops_with_owners", row, source=f"json_{source}")
            if number == crash:
                shop.feed("states", [testing.CRASH])
            shop.step()
            if number == restart:
                shop.restart()
        owned = [{"shop": "s1", "name": "Ann"}, {"shop": "s2", "name": "Bob"}]
        testing.assert_table(shop, "shops_with_owners", owned)
        sent = [{"id": number, "sent_at": at(minute)} for number, minute in ((1, 20), (2, 85), (3, 40))]
        testing.assert_table(shop, "sent_in_time", sent)
        for table in ("shops_with_owners", "sent_in_time"):
            testing.assert_parity(shop, table)
        assert shop.late_rows("sent_in_time") == []
