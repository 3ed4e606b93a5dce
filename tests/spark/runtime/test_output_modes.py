"""Output modes of tables, each against what Python computes from the same files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.oracle.tables import assert_table, read_table
from tests.repo.documents import ROOT, blocks
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import UpdateRefused
from penstock.plan.explain import render_plan
from penstock.plan.selection import RefreshSelection
from penstock.runtime import UpdateOutcome, plan_update
from penstock.testing.crash import forget_newest_commits

Row = dict[str, Any]
_START = datetime(2026, 1, 1, tzinfo=UTC)
_HOUR = timedelta(hours=1)
SHOPS = ("north", "south", None)

SOURCE = """
def orders():
    files = spark.readStream.schema("shop STRING, amount LONG, at TIMESTAMP").option("maxFilesPerTrigger", {files})
    return files.json("in").withWatermark("at", "10 days")
"""
UPDATED = """
def hourly():
    groups = orders().groupBy(F.window("at", "1 hour"), "shop")
    return groups.agg(F.count("*").alias("n"), F.sum("amount").alias("total"))

@ps.table(output_mode="update")
@ps.expect("many", "n > 1")
@ps.expect_or_drop("not too many", "n < 4")
@ps.expect_or_quarantine("no round total", "total % 5 <> 0")
def windows():
    return hourly()

@ps.table(output_mode="update", schema="start TIMESTAMP, place STRING, n INT")
def starts():
    return hourly().select("window.start", F.col("shop").alias("place"), "n")

@ps.table(output_mode="update", table_properties={"delta.enableDeletionVectors": "false"})
def one_row():
    return orders().agg(F.count("*").alias("n"), F.max("amount").alias("largest"))

@ps.table(output_mode="complete")
def shops():
    return orders().groupBy("shop").count()
"""


def order(number: int) -> Row:
    at = _START + timedelta(minutes=25 * (number % 7))
    return {"shop": SHOPS[number % 3], "amount": number, "at": at.isoformat()}


def arrive(project: PipelineProject, files: Iterable[int]) -> None:
    for file in files:
        project.arrive(f"{file:02}", [order(5 * file + number) for number in range(5)])


class Model:
    """What the tables hold after the batches, and which values were judged on the way."""

    def __init__(self) -> None:
        self.groups: dict[tuple[datetime, str | None], list[int]] = {}
        self.windows: dict[tuple[datetime, str | None], tuple[int, int]] = {}
        self.broken: Counter[str] = Counter()
        self.judged = 0

    def batch(self, files: Iterable[int]) -> None:
        changed = set()
        for number in [5 * file + row for file in files for row in range(5)]:
            row = order(number)
            key = (datetime.fromisoformat(row["at"]).replace(minute=0), row["shop"])
            self.groups.setdefault(key, []).append(number)
            changed.add(key)
        for key in changed:
            value = len(self.groups[key]), sum(self.groups[key])
            broken = {"many": value[0] <= 1, "not too many": value[0] >= 4, "no round total": value[1] % 5 == 0}
            self.broken.update(name for name, is_broken in broken.items() if is_broken)
            self.judged += 1
            if not (broken["not too many"] or broken["no round total"]):
                self.windows[key] = value

    def check(self, project: PipelineProject) -> None:
        window = {key: {"start": key[0], "end": key[0] + _HOUR} for key in self.groups}
        kept = [{"window": window[key], "shop": key[1], "n": n, "total": t} for key, (n, t) in self.windows.items()]
        assert_table(project.path("windows"), kept)
        counted = [{"start": at, "place": shop, "n": len(all_)} for (at, shop), all_ in self.groups.items()]
        assert_table(project.path("starts"), counted)
        numbers = [number for group in self.groups.values() for number in group]
        assert_table(project.path("one_row"), [{"n": len(numbers), "largest": max(numbers)}])
        shops = Counter(order(number)["shop"] for number in numbers)
        assert_table(project.path("shops"), [{"shop": shop, "count": n} for shop, n in shops.items()])


def merges(project: PipelineProject, table: str) -> int:
    """How many MERGEs the table has seen."""
    return sum(commit["operation"] == "MERGE" for commit in DeltaTable(str(project.path(table))).history())


def accounts(project: PipelineProject, update: UpdateOutcome, table: str) -> list[dict[str, Any]]:
    """The accounts of the batches of a table that had rows."""
    found = [event.details["accounting"] for event in project.events(update) if _is_accounted(event, table)]
    return [each for each in found if each["evaluated"]]


def _is_accounted(event: Any, table: str) -> bool:
    return "accounting" in event.details and event.origin.dataset_name == f"shop.{table}"


@pytest.mark.parametrize("files_a_batch", [pytest.param(2, marks=pytest.mark.slow), 1000])
def test_each_group_has_its_newest_value_and_a_batch_that_runs_again_is_not_merged_again(
    project: PipelineProject, files_a_batch: int
) -> None:
    project.write(SOURCE.format(files=files_a_batch) + UPDATED)
    model, quality, merged = Model(), Counter[tuple[str, bool]](), 0
    for files in (range(3), range(3, 5)):
        arrive(project, files)
        update = project.run()
        assert update.errors == ()
        for first in range(0, len(files), files_a_batch):
            model.batch(files[first : first + files_a_batch])
            merged += 1
        for name in ("not too many", "no round total", "many"):
            passed, failed, _ = project.quality(update).get(("windows", name), (0, 0, ""))
            quality[name, True] += passed
            quality[name, False] += failed
        for table in ("windows", "starts", "one_row", "shops"):
            assert {each["verdict"] for each in accounts(project, update, table)} == {"BALANCED"}
    model.check(project)
    assert model.broken["not too many"] > 0
    assert {name: quality[name, False] for name in model.broken} == model.broken
    assert {quality[name, True] + quality[name, False] for name in model.broken} == {model.judged}
    assert (merges(project, "starts"), merges(project, "shops")) == (merged, 0)

    # As after a crash between the table's commit and Spark's. The watermark has not moved, so the batch has rows.
    before = {table: project.version(table) for table in ("windows", "starts", "one_row")}
    checkpoints = project.directory / ".penstock/checkpoints/shop"
    forget_newest_commits({str(checkpoints / table / table / "0"): None for table in before})
    arrive(project, [5])
    update = project.run()
    assert update.errors == ()
    model.batch([5])
    model.check(project)
    assert {table: project.version(table) for table in before} == {table: old + 1 for table, old in before.items()}
    for table in before:
        verdicts = [each["verdict"] for each in accounts(project, update, table)]
        assert verdicts == ["BALANCED", "BALANCED"], "of the batch that ran again, and of the new one"
    aside = read_table(project.path("windows__quarantine"))
    assert len(aside) == model.broken["no round total"]


def test_keys_that_the_query_does_not_tell(project: PipelineProject) -> None:
    code = """
    @ps.table(output_mode="update", keys=["SHOP"])
    def newest():
        rows = spark.readStream.schema("shop STRING, amount LONG").option("maxFilesPerTrigger", 1).json("in")
        return rows.select("shop", "amount")
    """
    project.write(code)
    project.arrive("1", [{"shop": "a", "amount": 1}, {"shop": "b", "amount": 2}, {"amount": 3}])
    project.arrive("2", [{"shop": "b", "amount": 4}, {"amount": 5}, {"shop": "c", "amount": 6}])
    assert project.run().errors == ()
    assert project.rows("newest", "shop", "amount") == [("a", 1), ("b", 4), ("c", 6), (None, 5)]
    version = project.version("newest")
    project.arrive("3", [{"shop": "d", "amount": 7}, {"shop": "d", "amount": 8}, {"shop": "a", "amount": 9}])
    [error] = project.run().errors
    assert (error.condition, error.exit_code) == ("UPDATE_KEY_REPEATED", 1)
    assert (error.facts["keys"], error.facts["columns"], error.facts["batch"]) == ("1", "shop", "2")
    assert project.version("newest") == version
    in_one_batch = code.replace('.option("maxFilesPerTrigger", 1)', "")
    project.write(in_one_batch.replace('"SHOP"', '"shop", "amount"'))
    with pytest.raises(UpdateRefused) as refused:
        project.run()
    [error] = refused.value.errors
    assert error.condition == "CHECKPOINT_NOT_COMPATIBLE"
    assert "updated by shop and are now updated by shop, amount" in error.message
    assert "--full-refresh shop.newest" in error.fix
    assert project.run(full_refresh=("newest",)).errors == ()
    assert len(project.rows("newest", "shop", "amount")) == 9


@pytest.mark.slow  # as the pages are
def test_the_pipeline_of_the_page(project: PipelineProject) -> None:
    page: Path = ROOT / "docs/how-to/output-modes.md"
    project.write("\n".join(block.text for block in blocks(page) if "pipeline" in block.marks))

    def orders(file: str, *rows: tuple[str, int, int]) -> None:
        times = [(shop, amount, (_START + timedelta(hours=hour)).isoformat()) for shop, amount, hour in rows]
        made = [{"shop": shop, "amount": float(amount), "ordered_at": at} for shop, amount, at in times]
        project.arrive(file, made, folder="data/orders")

    (project.directory / "data").mkdir()
    orders("1", ("a", 10, 0), ("b", 200, 0))
    assert project.run().errors == ()
    assert project.rows("revenue_now", "shop", "orders", "revenue") == [("a", 1, 10.0), ("b", 1, 200.0)]
    assert project.rows("revenue_of_closed_hours", "shop") == []
    orders("2", ("a", 30, 0), ("c", 4, 5))
    update = project.run()
    assert update.errors == ()
    now = [("a", 2, 40.0), ("b", 1, 200.0), ("c", 1, 4.0)]
    assert project.rows("revenue_now", "shop", "orders", "revenue") == now
    assert project.rows("revenue_of_closed_hours", "shop", "orders", "revenue") == now[:2]
    assert project.rows("revenue_of_shops", "shop", "revenue") == [(shop, revenue) for shop, _, revenue in now]
    assert project.rows("newest_order", "shop", "amount") == [("a", 30.0), ("b", 200.0), ("c", 4.0)]
    large = [("large orders", "b", 1)]
    assert project.rows("counts", "counted", "shop", "count") == [*large, *(("orders", s, n) for s, n, _ in now)]
    changes = [("a", 1, 10.0), ("a", 2, 40.0), ("b", 1, 200.0), ("c", 1, 4.0)]
    assert project.rows("revenue_changes", "shop", "orders", "revenue") == changes
    plan = render_plan(plan_update(project.config, RefreshSelection(), spark=project.spark).plan)
    assert "update (the rows that changed are merged by window, shop)" in plan
    assert "complete (the table is rewritten in each batch)" in plan
