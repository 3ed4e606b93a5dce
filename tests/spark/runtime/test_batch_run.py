"""`run --batch`: the same declarations as one batch, in a folder of their own, equal to what the streams made."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.oracle.tables import read_table, stored
from tests.repo.documents import ROOT, blocks
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import PipelineInvalid, StateError
from penstock.plan.selection import RefreshSelection
from penstock.runtime import UpdateOutcome, run_update

_START = datetime(2026, 1, 1, tzinfo=UTC)
_PAGE: Path = ROOT / "docs/how-to/run-as-one-batch.md"

SMALL = """
@ps.table(path="elsewhere/orders")
@ps.expect_or_quarantine("positive", "amount > 0")
def orders():
    files = spark.readStream.schema("id LONG, shop STRING, amount DOUBLE, ordered_at TIMESTAMP")
    return files.json("data/orders", multiLine=False).withWatermark("ordered_at", "1 hour")

@ps.table(output_mode="update")
def hours():
    hours = ps.read_stream("orders").withWatermark("ordered_at", "1 hour").groupBy(F.window("ordered_at", "1 hour"))
    return hours.agg(F.count("*").alias("orders"), F.sum("amount").alias("revenue"))

ps.create_streaming_table("ids", table_properties={"pipelines.reset.allowed": "false"})

@ps.append_flow(target="ids")
def distinct():
    return spark.sql("SELECT id FROM STREAM(orders)").dropDuplicates(["id"])

ps.create_sink("copies", "delta", {"path": "copies"})

@ps.append_flow(target="copies")
def copied():
    return ps.read_stream("ids")
"""
MORE = """
ps.create_streaming_table("both")

@ps.append_flow(target="both")
def large():
    return ps.read_stream("orders").where("amount > 25").select("id")

@ps.append_flow(target="both")
def paid():
    return spark.readStream.schema("order LONG").json("data/payments")

ps.create_streaming_table("newest")
ps.create_auto_cdc_flow(target="newest", source="orders", keys=["shop"], sequence_by="id", stored_as_scd_type=1)

@ps.materialized_view
def shops():
    return spark.read.table("distinct_orders").groupBy("shop").count()
"""


def _run(project: PipelineProject, *refresh: str) -> UpdateOutcome:
    return run_update(project.config.as_batch(), RefreshSelection(refresh), spark=project.spark)


def _rows(project: PipelineProject, storage: str, table: str) -> list[Any]:
    """The rows of a table without what differs by nature: when, where and in which batch a row was put aside."""
    found = read_table(stored(project.directory / storage, "shop", table))
    rows = [{key: value for key, value in row.items() if not key.startswith("_quarantine_")} for row in found]
    return sorted(repr(sorted(row.items())) for row in rows)


def _files(project: PipelineProject, *folders: str) -> dict[Path, int]:
    """All files, with the times of their last change."""
    found = (path for folder in folders for path in (project.directory / folder).rglob("*"))
    return {path: path.stat().st_mtime_ns for path in found if path.is_file()}


def _arrive(project: PipelineProject, file: str, *ids: int, hour: int) -> None:
    (project.directory / "data").mkdir(exist_ok=True)
    at = [_START + timedelta(hours=hour, minutes=number % 60) for number in ids]
    orders = [
        {"id": number, "shop": "ab"[number % 2], "amount": float(number * 10), "ordered_at": time.isoformat()}
        for number, time in zip(ids, at, strict=True)
    ]
    paid = [
        {"order": number, "paid_at": (time + timedelta(minutes=5)).isoformat()}
        for number, time in zip(ids, at, strict=True)
        if number % 3
    ]
    project.arrive(file, orders, folder="data/orders")
    project.arrive(file, paid, folder="data/payments")


def test_a_batch_gives_what_the_streams_gave(project: PipelineProject) -> None:
    project.write(SMALL)
    _arrive(project, "1", 0, 1, 2, 3, 1, hour=0)
    _arrive(project, "2", 7, 8, 3, hour=5)
    assert project.run().errors == ()
    tables = ("hours", "ids")
    streamed = {table: _rows(project, ".penstock", table) for table in tables}
    assert [len(streamed[table]) for table in tables] == [2, 5]
    before = _files(project, ".penstock", "data", "copies", "elsewhere")

    assert _run(project).errors == ()
    batch = ".penstock/batch"
    assert {table: _rows(project, batch, table) for table in tables} == streamed
    assert len(_rows(project, batch, "orders")) == 7
    assert len(_rows(project, batch, "orders__quarantine")) == 1
    after = _files(project, ".penstock", "data", "copies", "elsewhere")
    assert {path: when for path, when in after.items() if batch not in str(path)} == before, "it touches nothing else"

    assert _run(project, "ids").errors == ()
    assert _rows(project, batch, "ids") == streamed["ids"], "computed anew, not added"
    streaming = replace(project.config, storage=f"{project.directory}/{batch}")
    with pytest.raises(StateError) as refused:
        run_update(streaming, RefreshSelection(("ids",)), spark=project.spark)
    assert refused.value.condition == "TABLE_OF_BATCH_RUN"


@pytest.mark.slow
def test_the_pipeline_of_the_page_and_more_kinds_of_flows(project: PipelineProject) -> None:
    project.write("\n".join(block.text for block in blocks(_PAGE) if "pipeline" in block.marks) + MORE)
    _arrive(project, "1", 0, 1, 2, 3, 1, hour=0)
    assert project.run().errors == ()
    _arrive(project, "2", 3, 4, hour=0)
    _arrive(project, "3", 7, 7, 8, hour=9)
    assert project.run().errors == ()
    tables = ("orders", "orders__quarantine", "distinct_orders", "revenue", "payments", "paid_orders", "both", "newest")
    streamed = {table: _rows(project, ".penstock", table) for table in (*tables, "shops", "revenue_of_closed_hours")}
    assert [len(streamed[table]) for table in ("distinct_orders", "revenue", "revenue_of_closed_hours")] == [6, 4, 2]

    assert _run(project).errors == ()
    batch = ".penstock/batch"
    for table in (*tables, "shops"):
        assert _rows(project, batch, table) == streamed[table], table
    closed = _rows(project, batch, "revenue_of_closed_hours")
    assert closed == _rows(project, batch, "revenue"), "a batch leaves no window open"
    assert set(streamed["revenue_of_closed_hours"]) < set(closed)


def test_what_only_streams_is_refused_with_its_place(project: PipelineProject) -> None:
    project.write(
        """
        @ps.table
        def ticks():
            return spark.readStream.format("rate").load()

        @ps.table
        def files():
            return spark.readStream.schema("id LONG, at TIMESTAMP").json("in").withWatermark("at", "1 hour")

        @ps.table
        def within():
            return ps.read_stream("files").withWatermark("at", "1 hour").dropDuplicatesWithinWatermark(["id"])

        @ps.table
        def changes():
            return spark.readStream.option("readChangeFeed", "true").table("files")

        @ps.table
        def later():
            return spark.readStream.option("startingVersion", 3).table("files")

        @ps.table
        def new_ones():
            files = spark.readStream.format("cloudFiles").option("cloudFiles.format", "json")
            return files.option("cloudFiles.includeExistingFiles", "false").schema("id LONG").load("in")
        """
    )
    project.arrive("1", [{"id": 1}])
    with pytest.raises(PipelineInvalid) as invalid:
        _run(project)
    found = {str(error.dataset).removeprefix("shop."): error for error in invalid.value.errors}
    assert {error.condition for error in found.values()} == {"BATCH_NOT_POSSIBLE"}
    words = {
        "ticks": "'rate' source",
        "within": "deduplicate within watermark",
        "changes": "the changes of files",
        "later": "from a version",
        "new_ones": "without the files that are there",
    }
    assert {name: text for name, text in words.items() if text not in found[name].facts["reason"]} == {}
    assert found.keys() == words.keys()
    assert all(error.location is not None and error.location.line for error in found.values())
    assert not (project.directory / ".penstock/batch/tables").exists()
