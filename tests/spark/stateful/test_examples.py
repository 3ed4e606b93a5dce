"""Each stateful example of the how-to pages at its edges, through the test kit, against plain Python.

Rows that are cut into batches in any way, a restart between and a crash in them, batches without rows, late rows,
an idle side, a table that changes; and the same as one batch.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject
from tests.spark.stateful.examples import (
    CUSTOMERS,
    END,
    LAST,
    LATE,
    LATE_IN,
    ROWS,
    Expected,
    Fed,
    at,
    customer,
    order,
    payment,
    pipeline_of,
)

from penstock import testing
from penstock.plan.selection import RefreshSelection
from penstock.runtime import plan_update
from penstock.testing import PipelineUnderTest

WITH_A_TABLE = ("customers", "orders_of_segments")
EVERY = (*WITH_A_TABLE, *LATE_IN)
PARTS = {"windows and duplicates": tuple(LATE_IN)[:7], "joins": (*WITH_A_TABLE, *tuple(LATE_IN)[7:])}
"""All at once, cut into many batches, they take longer than a test should: each has state of its own to commit."""
SOME = ("best_ten_minutes", "all_orders_and_payments", "told_once")
"""A full join has what inner, left and right ones have, chained windows what stands in them."""
SPLITS = testing.batch_splits(ROWS, 4, seed=4)
QUICK = {"spark.sql.shuffle.partitions": "1"}

Written = Callable[..., Path]


@pytest.fixture
def written(spark: SparkSession, tmp_path: Path) -> Written:
    """Writes the pages' pipeline with some of its tables; the kit finds the session of these tests."""

    def write(*tables: str) -> Path:
        file = tmp_path / "examples.py"
        file.write_text(pipeline_of(*tables), encoding="utf-8")
        return file

    return write


def _take(pipeline: PipelineUnderTest, rows: Iterable[Fed], *, crash: bool = False) -> None:
    for source, row in rows:
        pipeline.feed(source, row)
    if crash:
        pipeline.feed("orders", [testing.CRASH])
    pipeline.step()


def _customers(tables: Iterable[str]) -> list[Fed]:
    return CUSTOMERS if "customers" in tables else []


def _check(pipeline: PipelineUnderTest, tables: Iterable[str], rows: Iterable[Fed]) -> None:
    expected = Expected([*CUSTOMERS, *rows])
    for table in tables:
        testing.assert_table(pipeline, table, expected.of(table))


def _close(pipeline: PipelineUnderTest, tables: Iterable[str], rows: Iterable[Fed]) -> None:
    """Closes all windows and waits for no more partners: then the tables hold what Python makes of the rows."""
    pipeline.advance_watermark(to=END)
    _check(pipeline, tables, rows)


def _one_batch(pipeline: PipelineUnderTest, tables: Iterable[str]) -> None:
    """All rows at once; a batch without rows and one with late rows change nothing, and those are kept."""
    _take(pipeline, [*_customers(tables), *ROWS])
    _close(pipeline, tables, ROWS)
    for source in ("sales", "messages", "orders", "payments"):
        pipeline.feed(source, [])
    pipeline.step()
    _check(pipeline, tables, ROWS)
    _take(pipeline, LATE)
    _check(pipeline, LATE_IN.keys() & {*tables}, ROWS)
    for table in LATE_IN.keys() & {*tables}:
        late = pipeline.late_rows(table)
        assert sorted(row["_late_operator"] for row in late) == LATE_IN[table], table
        assert {row["_late_watermark"] for row in late} == {END}, table


def _batches(
    pipeline: PipelineUnderTest, tables: Iterable[str], batches: list[list[Fed]], *, crash: int, restart: int | None
) -> None:
    """The same rows in other batches; the pipeline crashes in one, and is started again after one."""
    _take(pipeline, _customers(tables))
    for number, batch in enumerate(batches):
        _take(pipeline, batch, crash=number == crash)
        if number == restart:
            pipeline.restart()
    assert [table for table in LATE_IN.keys() & {*tables} if pipeline.late_rows(table)] == []
    _take(pipeline, LAST)
    _close(pipeline, tables, [*ROWS, *LAST])


def test_all_at_once_without_rows_and_late(written: Written) -> None:
    with testing.pipeline(written(*SOME), configuration=QUICK) as shop:
        _one_batch(shop, SOME)


def test_other_batches_and_a_crash(written: Written) -> None:
    with testing.pipeline(written(*SOME), configuration=QUICK) as shop:
        _batches(shop, SOME, [ROWS[:8], ROWS[8:15], ROWS[15:]], crash=1, restart=None)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_example_all_at_once_and_as_one_batch(written: Written) -> None:
    with testing.pipeline(written(*EVERY)) as shop:
        _one_batch(shop, EVERY)
    # What dropDuplicatesWithinWatermark gives depends on the batches, so one batch over all rows refuses it.
    tables = [table for table in EVERY if table != "told_once"]
    with testing.pipeline(written(*tables)) as shop:
        _take(shop, [*CUSTOMERS, *ROWS])
        shop.advance_watermark(to=END)
        for table in tables:
            testing.assert_parity(shop, table)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("batches", SPLITS, ids=lambda batches: f"{len(batches)} batches")
def test_every_example_in_any_batches(written: Written, batches: list[list[Fed]], part: str) -> None:
    chance = random.Random(len(batches))
    crash, restart = (chance.randrange(len(batches)) for _ in range(2))
    with testing.pipeline(written(*PARTS[part]), configuration=QUICK) as shop:
        _batches(shop, PARTS[part], batches, crash=crash, restart=restart)


def _ids(rows: list[dict[str, Any]], *columns: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row[column] for column in columns) for row in rows), key=str)


def test_only_rows_without_a_partner_wait_for_an_idle_side_and_each_batch_reads_the_table(written: Written) -> None:
    both = "orders_and_payments"
    with testing.pipeline(written(*WITH_A_TABLE, both), configuration=QUICK) as shop:
        first = [order("o1", "c1", 5), payment("o1", 10), order("o2", "c2", 20), order("o3", "c1", 200)]
        _take(shop, [*CUSTOMERS, *first])
        assert shop.watermark(both) == at(-10), "payments are idle"
        assert _ids(shop.table(both), "order_id", "paid_order") == [("o1", "o1")], "pairs are written all the same"
        changed = [customer("c1", "silver"), customer("c2", "gold")]
        _take(shop, [*changed, payment("nobody", 105), order("o4", "c1", 201), order("o5", "c2", 201)])
        assert shop.watermark(both) == at(85)
        assert _ids(shop.table(both), "order_id", "paid_order") == [("o1", "o1"), ("o2", None)]
        before, after = [("o1", "gold"), ("o2", None), ("o3", "gold")], [("o4", "silver"), ("o5", "gold")]
        assert _ids(shop.table("orders_of_segments"), "order_id", "segment") == [*before, *after]


@pytest.mark.slow
def test_an_idle_side_and_a_table_that_changes(written: Written) -> None:
    both, soon = "orders_and_payments", "orders_and_payments_soon"
    with testing.pipeline(written(*WITH_A_TABLE, both, soon), configuration=QUICK) as shop:
        _take(shop, [*CUSTOMERS, order("o1", "c1", 5), payment("o1", 10), order("o2", "c2", 30), order("o3", "c1", 20)])
        _take(shop, [order("o4", "c1", 200)])
        assert (shop.watermark(both), shop.watermark(soon)) == (at(-10), at(190)), "payments are idle"
        paid, alone = ("o1", "o1"), [("o2", None), ("o3", None)]
        assert _ids(shop.table(both), "order_id", "paid_order") == [paid], "pairs are written all the same"
        assert _ids(shop.table(soon), "order_id", "paid_order") == [paid, *alone]

        shop.restart()
        _take(shop, [payment("o2", 60), payment("nobody", 100), customer("c1", "silver"), customer("c2", "gold")])
        assert shop.late_rows(both) == []
        late = _ids(shop.late_rows(soon), "paid_order", "_late_watermark", "_late_operator")
        side = "stream-stream join, right side"
        assert late == [("nobody", at(190), side), ("o2", at(190), side)], "the policy has survived the restart"
        assert shop.watermark(both) == at(-10), "of a restarted query each side has to say again how far it is"
        _take(shop, [payment("nobody", 100), order("o5", "c2", 201)])
        assert shop.watermark(both) == at(80)
        assert _ids(shop.table(both), "order_id", "paid_order") == [paid, ("o2", "o2")], "o3 may be paid at 80 minutes"
        _take(shop, [payment("nobody", 101), order("o6", "c1", 202)])
        assert _ids(shop.table(both), "order_id", "paid_order") == [paid, ("o2", "o2"), ("o3", None)]
        assert _ids(shop.table("orders_of_segments"), "order_id", "segment") == [
            ("o1", "gold"),
            ("o2", None),
            ("o3", "gold"),
            ("o4", "gold"),
            ("o5", "gold"),
            ("o6", "silver"),
        ]


@pytest.mark.slow
def test_files_beside_a_stream_are_listed_when_its_flow_starts(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "shops").mkdir()
    (tmp_path / "shops/1.json").write_text('{"shop": "a", "city": "Oslo"}\n', encoding="utf-8")
    (tmp_path / "shop.py").write_text(
        """import penstock as ps

@ps.table
def sold():
    sales = spark.readStream.schema("shop STRING").json("sales")
    return sales.join(spark.read.schema("shop STRING, city STRING").json("shops"), "shop", "left")
""",
        encoding="utf-8",
    )
    with testing.pipeline(tmp_path / "shop.py") as shop:
        shop.feed("sold", [{"shop": "a"}, {"shop": "b"}])
        shop.step()
        (tmp_path / "shops/2.json").write_text('{"shop": "b", "city": "Bergen"}\n', encoding="utf-8")
        shop.feed("sold", {"shop": "b"})
        shop.step()
        assert _ids(shop.table("sold"), "shop", "city") == [("a", "Oslo"), ("b", None), ("b", None)]
        shop.restart()
        shop.feed("sold", {"shop": "b"})
        shop.step()
        assert _ids(shop.table("sold"), "shop", "city")[1] == ("b", "Bergen")


def test_the_plan_of_all_examples(project: PipelineProject) -> None:
    for source in ("customers", "messages", "orders", "owners", "payments", "sales", "shops"):
        (project.directory / source).mkdir()
    project.write(pipeline_of(*EVERY, "shops_with_owners"))
    plan = plan_update(project.config, RefreshSelection(), spark=project.spark).plan
    assert plan.warnings == ()
    told = {stage.dataset.name: stage.explanation for stage in plan.stages}
    assert told["orders_of_segments"] == (
        "append: reads shop.orders, shop.customers; each batch reads shop.customers as it is then"
        "; watermark 10 minutes on ordered_at"
    )
    assert "keeps state: stream-stream join; never freed: stream-stream join" in told["shops_with_owners"]
    assert [name for name, text in told.items() if "never freed" in text] == ["shops_with_owners"]
    assert "keeps state: aggregate, stream-stream join; watermark" in told["paid_hours"]
