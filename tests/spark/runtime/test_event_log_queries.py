"""The queries of docs/how-to/monitor-with-sql.md, as they stand there, on a recorded log; and the log as a table."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession
from tests.recorded.build import SECOND_UPDATE, recorded_orders
from tests.recorded.years import Recorder
from tests.repo.documents import ROOT, blocks
from tests.spark.pipeline_project import PipelineProject

from penstock.events import EventLog, EventType, LateRows, Level, batch_progress_of, builders, read_events
from penstock.events.flow_facts import details_of
from penstock.observe.current import read_status
from penstock.observe.retention import compact
from penstock.runtime.query import run_sql

PAGE = [block.text for block in blocks(ROOT / "docs/how-to/monitor-with-sql.md") if block.kind == "sql"]


def test_the_queries_of_the_page(project: PipelineProject, spark: SparkSession) -> None:
    project.write("@dlt.table\ndef orders():\n    return spark.range(1)\n")
    storage = str(project.directory / ".penstock")
    recorded_orders(storage)
    with EventLog.open(storage, pipeline_name="orders", update_id=SECOND_UPDATE) as log:
        late = LateRows(query_id="q", batch_id=1, counted=2, kept=2, table="shop.hourly_revenue__late")
        told = builders.late_rows("hourly_revenue", late)
        log.append(EventType.LATE_ROWS, *told, dataset="shop.hourly_revenue", level=Level.WARN)

    def ask(query: str) -> list[tuple[Any, ...]]:
        return run_sql(project.config, query, spark=spark)[1]

    everything = ask("SELECT count(*) FROM Event_Log(TABLE(main.shop.orders)) AS log WHERE log.id IS NOT NULL")
    assert everything == [(len(list(read_events(storage))),)]
    updates, rules, by_hour, waiting, errors, lineage, accounts, actions = map(ask, PAGE)
    events = list(read_events(storage))
    newest = [event for event in events if event.origin.update_id == SECOND_UPDATE]
    assert updates[0][0] == SECOND_UPDATE
    assert [row[3] for row in updates] == ["COMPLETED", "FAILED"]

    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for event in newest:
        for each in (details_of(event).get("data_quality") or {}).get("expectations", ()):
            counts[each["dataset"], each["name"]][0] += each["passed_records"]
            counts[each["dataset"], each["name"]][1] += each["failed_records"]
    assert {(row[0], row[1]): [row[2], row[3]] for row in rules} == counts
    assert counts

    rows: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0])
    durations: dict[str, int] = {}
    for event in events:
        if (batch := batch_progress_of(event)) is not None:
            key = event.timestamp.hour, str(event.origin.dataset_name)
            rows[key][0] += batch.num_output_rows
            rows[key][1] += batch.dropped_records
            durations[key[1]] = durations.get(key[1], 0) + 1
    assert {(row[0].astimezone(UTC).hour, row[1]): [row[2], row[3]] for row in by_hour} == rows
    assert {row[0]: row[4] for row in waiting} == durations
    assert any(row[2] for row in waiting)
    assert {(row[1], row[2]) for row in errors} == {
        (event.origin.dataset_name, event.error["condition"]) for event in events if event.error is not None
    }
    assert all(row[4] for row in errors)
    assert set(lineage) == {
        (details_of(event)["output_dataset"], read)
        for event in newest
        if event.event_type is EventType.FLOW_DEFINITION
        for read in details_of(event)["input_datasets"]
    }
    assert {row[0]: row[3] for row in accounts}["shop.hourly_revenue"] == 2
    assert [row[1:3] for row in actions] == [("ada", "START")] * 2


def test_a_compacted_log_in_sql(project: PipelineProject, spark: SparkSession) -> None:
    project.write("@dlt.table\ndef orders():\n    return spark.range(1)\n")
    storage = project.directory / ".penstock"
    recorder = Recorder(str(storage), 7, batches=4)
    recorder.record(4)
    recorder.define()
    replaced = min((storage / "events").iterdir())
    content = replaced.read_bytes()
    done = compact(str(storage), datetime.now(UTC))
    events = list(read_events(str(storage)))
    for left_over in (replaced, replaced.with_name("000001-0001.compacted.jsonl.1.tmp")):
        left_over.write_bytes(content)  # as a process leaves it that died
        _, rows = run_sql(project.config, "SELECT id FROM event_log", spark=spark)
        assert sorted(row[0] for row in rows) == sorted(event.id for event in events)
    [query] = [block.text for block in blocks(ROOT / "docs/how-to/event-log-retention.md") if block.kind == "sql"]
    ((dropped, dataset, total),) = run_sql(project.config, query, spark=spark)[1]
    status = read_status(str(storage)).dataset(dataset)
    assert status is not None
    assert (int(dropped), int(total)) == (done.dropped, status.rows)


def test_a_run_publishes_its_log_and_queries_read_it(project: PipelineProject, spark: SparkSession) -> None:
    project.settings["event_log"] = "{schema: monitoring, name: events}"
    project.write("@dlt.table\ndef orders():\n    return spark.range(3)\n")
    outcome = project.run()
    columns = "sequence, origin.update_id, details:create_update.cause, array(struct(id, origin.pipeline_name)) AS ids"
    _, rows = run_sql(project.config, f"SELECT {columns} FROM monitoring.events ORDER BY sequence", spark=spark)
    assert [row[3][0]["pipeline_name"] for row in rows] == ["shop"] * len(rows), (
        "structs have the names of their fields"
    )
    assert [row[0] for row in rows] == [event.sequence for event in project.events()]
    assert {row[1] for row in rows} == {outcome.update_id}
    assert "USER_ACTION" in {row[2] for row in rows}
    assert project.validate().errors == ()
    told = [event.origin.dataset_name for event in project.events() if event.error is not None]
    assert told == [], "the table is nobody's dataset, and is not told to be left over"
    project.settings["event_log"] = "{name: orders}"
    assert [error.condition for error in project.validate().errors] == ["EVENT_LOG_NAME_TAKEN"]
