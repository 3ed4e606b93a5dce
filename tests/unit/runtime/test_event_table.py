"""The event log as a Delta table: each event once, whatever happened to the runs and to the table."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from tests.recorded.build import RECORDED, recorded_orders
from tests.recorded.years import Recorder
from tests.unit.events.test_log import open_log, say

from penstock.config import load_project
from penstock.events import EventLog, EventType, UpdateState, builders, encode, read_events
from penstock.events.codec import columns_of, json_ready, json_text
from penstock.events.dlt_columns import IN_A_LINE
from penstock.graph.identifier import Identifier
from penstock.observe.log.retention import compact
from penstock.runtime.reporting import event_table
from penstock.runtime.reporting.event_table import EventTable
from penstock.storage import StorageLayout

TABLE = Identifier("monitoring", "events")


def path_of(storage: Path) -> str:
    return StorageLayout(str(storage)).table(TABLE)


def published(storage: Path) -> list[dict[str, Any]]:
    rows = DeltaTable(path_of(storage)).to_pyarrow_table().to_pylist()
    return sorted(rows, key=lambda row: row["sequence"])


def logged(storage: Path) -> list[int]:
    return [event.sequence for event in read_events(str(storage))]


def table(storage: Path, log: EventLog, **more: Any) -> EventTable:
    return EventTable(str(storage), TABLE, log, pipeline="orders", **more)


def run(storage: Path, name: str, *, state: UpdateState = UpdateState.RUNNING, **more: Any) -> None:
    with open_log(storage, name) as log, table(storage, log, **more):
        for _ in range(2):
            log.append(EventType.UPDATE_PROGRESS, *builders.update_progress(state, pipeline="orders"))


def wait(until: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not until():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_each_run_adds_its_events_and_those_that_the_table_missed(tmp_path: Path) -> None:
    recorded_orders(str(tmp_path))
    run(tmp_path, "u3")
    with open_log(tmp_path, "killed") as log:
        say(log)
    run(tmp_path, "u4")
    assert [row["sequence"] for row in published(tmp_path)] == logged(tmp_path)
    run(tmp_path, "u5")
    assert [row["sequence"] for row in published(tmp_path)] == logged(tmp_path)


def test_a_compaction_takes_nothing_out_of_the_table_and_adds_nothing_twice(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path), 7, batches=4)
    recorder.record(4)
    recorder.define()
    run(tmp_path, "u1")
    whole = [row["id"] for row in published(tmp_path)]
    assert compact(str(tmp_path), datetime.now(UTC)).dropped > 0
    run(tmp_path, "u2")
    newest = [event.id for event in read_events(str(tmp_path)) if event.origin.update_id == "u2"]
    assert [row["id"] for row in published(tmp_path)] == whole + newest


def test_rows_are_the_lines_of_the_log(tmp_path: Path) -> None:
    recorded_orders(str(tmp_path))
    run(tmp_path, "u3")
    lines = {event.sequence: json.loads(encode(event)) for event in read_events(str(RECORDED))}
    for row in published(tmp_path)[: len(lines)]:
        line = lines[row["sequence"]]
        own = {name: value for name, value in row["origin"].items() if name in line["origin"]}
        assert own == line["origin"]
        assert row["timestamp"] == datetime.fromisoformat(line["timestamp"])
        assert (row["error"] is None) is (line["error"] is None)
        same = line.keys() - {"origin", "timestamp", "error"}
        assert {name: row[name] for name in same} == {name: line[name] for name in same}


def test_a_table_of_an_earlier_version_gets_the_columns_of_today(tmp_path: Path) -> None:
    """And is continued where it ends, with what was in it."""
    recorded_orders(str(tmp_path))
    events = list(read_events(str(tmp_path)))
    line = pa.struct([(name, pa.int64() if name == "batch_id" else pa.string()) for name in IN_A_LINE])
    kinds = {"sequence": pa.int64(), "origin": line, "timestamp": pa.timestamp("us", tz="UTC")}
    rows = [
        {**columns_of(event), "error": None if event.error is None else json_text(json_ready(event.error))}
        for event in events
    ]
    former = pa.schema([(name, kinds.get(name, pa.string())) for name in rows[0]])
    write_deltalake(
        DeltaTable.create(
            path_of(tmp_path),
            former,
            configuration={event_table.PUBLISHED: "orders"},
            raise_if_key_not_exists=False,
        ),
        pa.Table.from_pylist(rows, former),
        mode="append",
        commit_properties=CommitProperties(
            app_transactions=[Transaction(f"penstock/event_log/{events[0].id}", events[-1].sequence)]
        ),
    )
    for number in range(2):
        run(tmp_path, f"u{number}")
        assert [row["sequence"] for row in published(tmp_path)] == logged(tmp_path)
        assert DeltaTable(path_of(tmp_path)).metadata().configuration == {event_table.PUBLISHED: "orders"}
    anew = tmp_path / "anew"
    shutil.copytree(tmp_path / "events", anew / "events")
    run(anew, "u2")
    assert published(anew)[: len(published(tmp_path))] == published(tmp_path)
    assert str(DeltaTable(path_of(tmp_path)).history()).count("Overwrite") == 1


def test_a_run_that_goes_on_publishes_meanwhile(tmp_path: Path) -> None:
    with open_log(tmp_path, "u1") as log, table(tmp_path, log, interval=0.05):
        log.append(EventType.UPDATE_PROGRESS, *builders.update_progress(UpdateState.RUNNING, pipeline="orders"))
        wait(lambda: DeltaTable.is_deltatable(path_of(tmp_path)) and len(published(tmp_path)) == 1)
        say(log)
        wait(lambda: len(published(tmp_path)) == 2)


def test_a_table_of_that_name_is_left_alone_and_that_is_told_once(tmp_path: Path) -> None:
    write_deltalake(path_of(tmp_path), event_table.COLUMNS.empty_table())
    run(tmp_path, "u1")
    assert published(tmp_path) == []
    told = [event for event in read_events(str(tmp_path)) if event.event_type is EventType.HOOK_PROGRESS]
    assert [(event.level.value, (event.error or {})["condition"]) for event in told] == [
        ("WARN", "EVENT_LOG_NOT_PUBLISHED")
    ]


def test_a_log_that_begins_anew_is_added_from_its_beginning(tmp_path: Path) -> None:
    run(tmp_path, "u1")
    before = logged(tmp_path)
    shutil.rmtree(tmp_path / "events")
    run(tmp_path, "u2")
    assert sorted(row["sequence"] for row in published(tmp_path)) == sorted([*before, *logged(tmp_path)])
    assert len({row["id"] for row in published(tmp_path)}) == 2 * len(before)


def test_a_run_that_was_refused_makes_no_table(tmp_path: Path) -> None:
    """Its pipeline may declare a table of that name."""
    run(tmp_path, "u1", state=UpdateState.INITIALIZING)
    assert not DeltaTable.is_deltatable(path_of(tmp_path))
    run(tmp_path, "u2")
    run(tmp_path, "u3", state=UpdateState.INITIALIZING)
    assert [row["sequence"] for row in published(tmp_path)] == logged(tmp_path)


def test_while_the_table_cannot_be_written_nothing_is_lost_nor_kept_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_table, "_MOST_WAITING", 3)
    broken = [True]

    def write(*given: Any, **more: Any) -> None:
        if broken[0]:
            raise OSError("the disk is full of s3cret")
        write_deltalake(*given, **more)

    monkeypatch.setattr(event_table, "write_deltalake", write)
    hidden = {"interval": 0.02, "redacted": lambda text: text.replace("s3cret", "***")}
    with open_log(tmp_path, "u1") as log, table(tmp_path, log, **hidden):
        log.append(EventType.UPDATE_PROGRESS, *builders.update_progress(UpdateState.RUNNING, pipeline="orders"))
        for _ in range(20):
            say(log)
            time.sleep(0.01)
        broken[0] = False
    assert [row["sequence"] for row in published(tmp_path)] == logged(tmp_path)
    failures = [row for row in published(tmp_path) if row["event_type"] == "hook_progress"]
    assert len(failures) == 1
    assert "full of ***" in failures[0]["message"]


def test_many_small_files_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_table, "_FILES", 3)
    for number in range(5):
        run(tmp_path, f"u{number}")
    assert len(DeltaTable(path_of(tmp_path)).file_uris()) <= 3
    assert [row["sequence"] for row in published(tmp_path)] == logged(tmp_path)


@pytest.mark.parametrize(
    ("text", "table"),
    [("{name: events}", "shop.events"), ("{schema: monitoring, name: events}", "monitoring.events"),
     ("{catalog: main, schema: monitoring, name: events}", "monitoring.events")],
)  # fmt: skip
def test_the_pipeline_file_names_it(tmp_path: Path, text: str, table: str) -> None:
    (tmp_path / "penstock.yml").write_text(f"name: orders\nschema: shop\nevent_log: {text}\n")
    assert str(load_project(tmp_path).event_log) == table
