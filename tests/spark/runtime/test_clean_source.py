"""`cloudFiles.cleanSource` in a run: files go when their rows are in the table, and the next run does not miss them."""

from __future__ import annotations

import os
import time

import pytest
from tests.spark.growing_file import written_to
from tests.spark.pipeline_project import PipelineProject

from penstock.care.checkpoints.inventory import Inventory
from penstock.cli.file_state import CLOUD_FILES_STATE, FileState
from penstock.errors import ConfigError, DefinitionError
from penstock.events import Level, UpdateState
from penstock.events.log.reader import read_events
from penstock.runtime import UpdateOutcome
from penstock.runtime.commands.query import run_sql


def _said(project: PipelineProject, update: UpdateOutcome) -> list[str]:
    return [event.message for event in project.events(update) if "files of" in event.message]


def _waiting(project: PipelineProject, update: UpdateOutcome) -> list[int]:
    """How many files waited after each batch, as the events tell."""
    told = [event.details.get("flow_progress", {}).get("metrics") for event in project.events(update)]
    return [metrics["backlog_files"] for metrics in told if metrics]


def _query(project: PipelineProject, statement: str) -> list[tuple[object, ...]]:
    files = FileState(project.config)
    known = {CLOUD_FILES_STATE: files.view()}, {CLOUD_FILES_STATE: files.function()}
    return run_sql(project.config, statement, spark=project.spark, views=known[0], functions=known[1])[1]


def test_files_whose_rows_are_in_the_table_are_moved(project: PipelineProject) -> None:
    project.write("""
        @dlt.table
        def loaded():
            options = {"format": "json", "schemaHints": "id LONG", "maxFilesPerTrigger": "2", "cleanSource": "MOVE"}
            options |= {"cleanSource.retentionDuration": "0 seconds", "cleanSource.moveDestination": "archive"}
            files = spark.readStream.format("cloudFiles").options(**{f"cloudFiles.{k}": v for k, v in options.items()})
            return files.load("in").where("100 div (99 - id) IS NOT NULL")
    """)
    for number in range(5):
        project.arrive(f"file {number}", [{"id": number}])
    update = project.run()
    assert project.rows("loaded", "id") == [0, 1, 2, 3, 4]
    assert list((project.directory / "in").glob("*.json")) == [], "also those of the last batch"
    assert len(list((project.directory / "archive").iterdir())) == 5
    assert _waiting(project, update) == [3, 1, 0]
    [said] = _said(project, update)
    assert "has moved 5 files of" in said

    project.arrive("good", [{"id": 5}])
    project.run()
    assert project.rows("loaded", "id") == [0, 1, 2, 3, 4, 5], "files that are gone are not missed"
    project.arrive("bad", [{"id": 99}])
    assert project.run().state is UpdateState.FAILED
    assert [path.name for path in (project.directory / "in").glob("*.json")] == ["bad.json"], "its rows are nowhere"

    expected = [("ARCHIVED", 6, 6, 6, 6), ("DISCOVERED", 1, 1, 0, 0)]
    [checkpoint] = Inventory(project.config.storage, read_events(project.config.storage)).checkpoints
    counts = "count(*), count(discovery_time), count(processed_time), count(move_location)"
    for source in ("", "(TABLE(Shop.loaded))", f"('{checkpoint.folder.uri}')", "(source => TABLE(loaded)) AS files"):
        statement = f"SELECT ingestion_state, {counts} FROM cloud_files_state{source} GROUP BY 1 ORDER BY 1"
        assert _query(project, statement) == expected, source
    joined = "SELECT count(*) FROM loaded JOIN cloud_files_state(TABLE(loaded)) f ON f.flow_name = 'loaded'"
    assert _query(project, joined) == [(6 * 7,)], "beside a table under its own name"
    with pytest.raises(ConfigError) as unknown:
        _query(project, "SELECT * FROM cloud_files_state(TABLE(loades))")
    assert unknown.value.condition == "CHECKPOINT_NOT_FOUND"
    with pytest.raises(DefinitionError) as invalid:
        _query(project, "SELECT * FROM cloud_files_state(7)")
    assert invalid.value.condition == "TABLE_FUNCTION_ARGUMENT_INVALID"
    with pytest.raises(DefinitionError) as missing:
        _query(project, "SELECT * FROM cloud_files_state()")
    assert missing.value.condition == "TABLE_FUNCTION_ARGUMENT_MISSING"


def test_a_file_that_is_still_written_is_left_to_the_next_run(project: PipelineProject) -> None:
    project.write("""
        @dlt.table
        def loaded():
            files = spark.readStream.format("cloudFiles").option("cloudFiles.format", "text")
            return files.option("cloudFiles.settleTime", "2 seconds").load("in")
    """)
    (project.directory / "in").mkdir()
    written = project.directory / "in/slow.txt"
    (project.directory / "in/whole.txt").write_text("whole\n")
    for hidden in (".hidden.txt", "_hidden.txt", "copied.txt._COPYING_"):
        (project.directory / "in" / hidden).write_text("not yet\n")
    with written_to(written) as lines:
        update = project.run()
    assert project.rows("loaded", "value") == ["whole"]
    [told] = [event for event in project.events(update) if "still being written" in event.message]
    assert (told.level, f"leaves to its next run {written}:" in told.message) == (Level.WARN, True)
    project.run()
    assert project.rows("loaded", "value") == sorted([*lines, "whole"])

    with written.open("a") as file:
        file.write("never\n")
    os.utime(written, (time.time() + 5, time.time() + 5))
    update = project.run()
    assert project.rows("loaded", "value") == sorted([*lines, "whole"])
    assert [event.level for event in project.events(update) if "before it was whole" in event.message] == [Level.WARN]

    (project.directory / "in/.hidden.txt").rename(project.directory / "in/renamed.txt")
    project.run()
    assert project.rows("loaded", "value") == sorted([*lines, "not yet", "whole"]), (
        "it counts from when it has its name"
    )


def test_a_folder_that_two_tables_read_is_not_cleaned(project: PipelineProject) -> None:
    project.write("""
        @dlt.view
        def files():
            options = {"format": "text", "cleanSource": "MOVE", "cleanSource.moveDestination": "archive"}
            options |= {"cleanSource.retentionDuration": "0 seconds"}
            files = spark.readStream.format("cloudFiles").options(**{f"cloudFiles.{k}": v for k, v in options.items()})
            return files.load("in")

        for name in ("one", "two"):
            @dlt.table(name=name)
            def table():
                return dlt.read_stream("files")
    """)
    project.arrive("1", [{"id": 1}])
    update = project.run()
    assert [len(project.rows(name, "value")) for name in ("one", "two")] == [1, 1]
    assert [path.name for path in (project.directory / "in").glob("*.json")] == ["1.json"]
    said = sorted(event.message for event in project.events(update) if "does not clean" in event.message)
    assert [line.rpartition(" ")[2] for line in said] == ["shop.two", "shop.one"]
