"""Tables are looked after by runs and by commands, and no row and no flow minds."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.spark.pipeline_project import PipelineProject

from penstock.events import Event, EventType, UpdateState
from penstock.graph.identifier import Identifier
from penstock.observe.current import read_status
from penstock.runtime import UpdateOutcome
from penstock.runtime.commands.manual_maintenance import deletable_files, optimize_tables, vacuum_tables
from penstock.runtime.maintenance import continuous_maintenance
from penstock.runtime.maintenance import tables as maintenance

PIPELINE = """
NO_RETENTION = {"delta.deletedFileRetentionDuration": "interval 0 seconds"}

@dlt.table(table_properties={**NO_RETENTION, "pipelines.autoOptimize.zOrderCols": "id"})
@ps.expect_or_quarantine("real", "id < 1000")
def bronze():
    return spark.readStream.schema("id LONG").option("maxFilesPerTrigger", 1).json("in")

@dlt.table
def silver():
    return dlt.read_stream("bronze")

@dlt.table
def total():
    return spark.sql("SELECT count(*) AS rows FROM bronze")
"""
CONTINUOUS = """
@dlt.table(table_properties={"delta.deletedFileRetentionDuration": "interval 0 seconds"})
def bronze():
    return spark.readStream.schema("id LONG").option("maxFilesPerTrigger", 1).json("in")

@dlt.table(spark_conf={"pipelines.trigger.interval": "100 milliseconds"})
def total():
    return spark.sql("SELECT count(*) AS rows FROM bronze")
"""
APPENDED_AND_REPLACED = """
@dlt.table
def appended():
    return spark.readStream.schema("id LONG").option("maxFilesPerTrigger", 1).json("in")

@dlt.table
def replaced():
    return spark.range(0, 2, 1, 2)
"""
BRONZE = Identifier("shop", "bronze")
_PATIENCE = 120.0


def done(events: list[Event]) -> dict[str, dict[str, Any]]:
    """What was done last for each table."""
    told = [each for each in events if each.event_type is EventType.MAINTENANCE_PROGRESS]
    assert [each.error for each in told if each.error is not None] == []
    return {str(each.origin.dataset_name): dict(each.details["maintenance_progress"]) for each in told}


@pytest.mark.slow
def test_a_flow_that_lags_behind_keeps_the_files_that_it_needs(project: PipelineProject) -> None:
    project.write(PIPELINE)
    project.arrive("1", [{"id": 1}])
    assert project.run().errors == ()
    for number in (2, 3):
        project.arrive(str(number), [{"id": number}])
        assert project.run(refresh=("bronze",)).errors == ()
    config, tables = project.config, {BRONZE: str(project.path("bronze"))}
    optimized = optimize_tables(config, tables, progress=print, spark=project.spark)[BRONZE]
    assert (optimized.files_added, optimized.files_removed) == (1, 3)
    assert deletable_files(config, tables, progress=print, spark=project.spark) == {BRONZE: ()}
    kept = vacuum_tables(config, tables, progress=print, spark=project.spark)[BRONZE]
    assert (kept.files_deleted, kept.retention_hours) == (0, 2)
    update = read_status(config.storage).update
    assert update is not None
    assert update.state is UpdateState.COMPLETED, "what is done between runs is no update"

    assert project.run().errors == ()
    assert project.rows("silver", "id") == [1, 2, 3]
    assert project.rows("total", "rows") == [3]
    assert len(deletable_files(config, tables, progress=print, spark=project.spark)[BRONZE] or ()) == 3
    assert vacuum_tables(config, tables, progress=print, spark=project.spark)[BRONZE].files_deleted == 3
    assert project.rows("bronze", "id") == [1, 2, 3]


def test_a_run_looks_after_what_is_due_when_its_flows_have_ended(project: PipelineProject) -> None:
    project.settings["maintenance"] = "{interval: 0 seconds}"
    project.write(PIPELINE)
    for number in range(3):
        project.arrive(str(number), [{"id": number}, {"id": 1000 + number}])
    first = project.run()
    assert first.errors == ()
    assert done(project.events(first)) == {}, "what this run creates is not due"
    second = project.run()
    told = done(project.events(second))
    assert set(told) == {"shop.bronze", "shop.bronze__quarantine", "shop.silver", "shop.total"}
    assert (told["shop.bronze"]["files_added"], told["shop.bronze"]["files_removed"]) == (1, 3)
    assert told["shop.bronze"]["retention_hours"] == 2, "silver has not passed the commit of this very OPTIMIZE"
    assert told["shop.silver"]["files_removed"] == 0, "so few files are not worth a job"
    assert DeltaTable(str(project.path("bronze"))).history(1)[0]["operation"] == "OPTIMIZE"
    third = done(project.events(project.run(refresh=("bronze",))))
    assert third["shop.bronze"]["files_removed"] == 0, "no row has come since"
    project.settings["maintenance"] = "{automatic: false}"
    assert done(project.events(project.run(refresh=("bronze",)))) == {}
    assert project.rows("silver", "id") == [0, 1, 2]


def test_beside_flows_only_a_table_that_grows_by_appends_is_rewritten_and_no_flow_fails(
    project: PipelineProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "_FEW", 1)
    project.settings["maintenance"] = "{interval: 4 seconds}"
    project.write(APPENDED_AND_REPLACED)
    for number in (0, 1):
        project.arrive(str(number), [{"id": number}])
    looked_at: set[str] = set()
    stop, maintained, rows = threading.Event(), threading.Event(), 0

    def seen(event: Event) -> None:
        nonlocal rows
        table = event.origin.dataset_name
        if (done := event.details.get("maintenance_progress")) and (done["files_removed"] or table == "shop.replaced"):
            looked_at.add(str(table))
        if looked_at == {"shop.appended", "shop.replaced"}:
            maintained.set()
        if (metrics := event.details.get("flow_progress", {}).get("metrics")) and table == "shop.appended":
            rows += metrics["num_output_rows"]
        if rows == 3:
            stop.set()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(project.run, trigger="1 second", stop=stop, on_event=seen)
        try:
            assert maintained.wait(_PATIENCE)
            project.arrive("2", [{"id": 2}])
            assert stop.wait(_PATIENCE)
        finally:
            stop.set()
        outcome: UpdateOutcome = running.result(_PATIENCE)
    assert (outcome.state, outcome.errors) == (UpdateState.CANCELED, ())
    assert [event.message for event in project.events(outcome) if "tries again" in event.message] == []
    assert (project.rows("appended", "id"), project.rows("replaced", "id")) == ([0, 1, 2], [0, 1])
    assert "OPTIMIZE" in operations(project, "appended")
    assert "OPTIMIZE" not in operations(project, "replaced")
    assert len(DeltaTable(str(project.path("replaced"))).file_uris()) == 2, "as many small files as the other one had"


def operations(project: PipelineProject, table: str) -> set[str]:
    return {str(each["operation"]) for each in DeltaTable(str(project.path(table))).history()}


@pytest.mark.slow
def test_a_continuous_run_looks_after_tables_beside_its_flows(
    project: PipelineProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "_FEW", 2)
    monkeypatch.setattr(continuous_maintenance, "_LOOK_SECONDS", 0.2)
    project.settings["maintenance"] = "{interval: 0 seconds}"
    project.write(CONTINUOUS)
    project.arrive("0", [{"id": 0}])
    stop, rewritten, arrived = threading.Event(), threading.Event(), 1

    def seen(event: Event) -> None:
        progress = event.details.get("maintenance_progress")
        if progress and event.origin.dataset_name == "shop.bronze" and progress["files_removed"]:
            rewritten.set()

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(project.run, trigger="0 seconds", stop=stop, on_event=seen)
        until = time.monotonic() + _PATIENCE
        try:
            while not running.done() and time.monotonic() < until and not rewritten.wait(1.5):
                project.arrive(str(arrived), [{"id": arrived}])
                arrived += 1
        finally:
            stop.set()
        outcome: UpdateOutcome = running.result(_PATIENCE)
    assert (outcome.state, outcome.errors) == (UpdateState.CANCELED, ())
    told = done(project.events(outcome))
    assert told["shop.bronze"]["retention_hours"] == 24, "a batch may be writing files that nobody knows yet"
    assert told["shop.total"]["files_removed"] == 0
    assert [event.message for event in project.events(outcome) if "tries again" in event.message] == []
    project.settings["maintenance"] = "{automatic: false}"
    assert project.run().errors == ()
    assert project.rows("bronze", "id") == list(range(arrived))
    assert project.rows("total", "rows") == [arrived]
