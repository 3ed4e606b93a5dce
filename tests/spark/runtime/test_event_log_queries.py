"""The queries of docs/how-to/monitor-with-sql.md, as they stand there, on a recorded log; and the log as a table."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from pyspark.sql import SparkSession
from tests.recorded.build import SECOND_UPDATE, recorded_orders
from tests.recorded.years import Recorder
from tests.repo.documents import ROOT, blocks
from tests.spark.pipeline_project import PipelineProject

from penstock.access.sight import TableEvents, everything
from penstock.errors import DefinitionError, PenstockError
from penstock.events import EventLog, EventType, LateRows, Level, UpdateState, batch_progress_of, builders, read_events
from penstock.events.dlt_columns import pipeline_id
from penstock.events.flows.facts import details_of
from penstock.graph.identifier import Identifier
from penstock.observe.current import read_status
from penstock.observe.log.retention import compact
from penstock.runtime.commands.query import run_sql
from penstock.runtime.reporting.event_table import EventTable

WRITTEN_FOR_DATABRICKS = {
    "rules": """
        WITH latest_update AS (
          SELECT origin.update_id AS id FROM event_log("{pipeline_id}")
          WHERE event_type = 'create_update' ORDER BY timestamp DESC LIMIT 1
        )
        SELECT checked.dataset, checked.name AS rule,
               SUM(checked.passed_records) AS passing, SUM(checked.failed_records) AS failing
        FROM (
          SELECT explode(from_json(details:flow_progress:data_quality:expectations,
                 schema_of_json("[{{'name':'', 'dataset':'', 'passed_records':1, 'failed_records':1}}]"))) AS checked
          FROM event_log("{pipeline_id}"), latest_update
          WHERE event_type = 'flow_progress' AND origin.update_id = latest_update.id
        ) GROUP BY checked.dataset, checked.name""",
    "backlog": """
        SELECT timestamp, origin.flow_id, Double(details :flow_progress.metrics.backlog_bytes) AS bytes,
               details:flow_progress:metrics:backlog_files::int AS files
        FROM event_log(TABLE(shop.bronze_orders))
        WHERE event_type = 'flow_progress' AND details:flow_progress:metrics.backlog_files IS NOT NULL""",
    "durations": """
        SELECT origin.pipeline_id, origin.pipeline_name, origin.update_id,
               max(CASE WHEN details:update_progress.state IN ('COMPLETED', 'FAILED', 'CANCELED') THEN timestamp END)
                 - min(timestamp) AS took
        FROM event_log WHERE event_type IN ('create_update', 'update_progress') AND origin.maintenance_id IS NULL
        GROUP BY ALL""",
    "lineage": """
        SELECT details:flow_definition.output_dataset AS output, details:flow_definition.input_datasets AS inputs,
               details:flow_definition.flow_type, details:flow_definition.schema, details:flow_definition.explain_text
        FROM event_log("{pipeline_id}") WHERE event_type = 'flow_definition' AND details:flow_definition IS NOT NULL""",
    "actions": """
        SELECT timestamp, details:user_action:action, details:user_action:user_name
        FROM event_log WHERE event_type = 'user_action'""",
    "errors": r"""
        SELECT timestamp, origin.flow_name, error.fatal, error.exceptions[0].class_name,
               regexp_extract(error.exceptions[0].message, '^\\[([a-zA-Z.:0-9_]+)\\]', 1) AS code,
               error.exceptions[0].stack[0].line_number
        FROM event_log WHERE level = 'ERROR' OR error.exceptions IS NOT NULL ORDER BY timestamp DESC""",
}
"""The shapes of monitoring queries that are published for the event log of Databricks."""

PAGE = [block.text for block in blocks(ROOT / "docs/how-to/monitor-with-sql.md") if block.kind == "sql"]


def test_the_queries_of_the_page(project: PipelineProject, spark: SparkSession) -> None:
    project.write("@dlt.table\ndef orders():\n    return spark.range(1)\n")
    storage = str(project.directory / ".penstock")
    recorded_orders(storage)
    with EventLog.open(storage, pipeline_name="orders", update_id=SECOND_UPDATE) as log:
        late = LateRows(query_id="q", batch_id=1, counted=2, kept=2, table="shop.hourly_revenue__late")
        told = builders.late_rows("hourly_revenue", late)
        with EventTable(storage, Identifier("monitoring", "events"), log, pipeline="orders"):
            log.append(EventType.LATE_ROWS, *told, dataset="shop.hourly_revenue", level=Level.WARN)
            completed = builders.update_progress(UpdateState.COMPLETED, pipeline="orders")
            log.append(EventType.UPDATE_PROGRESS, *completed)

    def ask(query: str) -> list[tuple[Any, ...]]:
        return run_sql(project.config, query, spark=spark)[1]

    everything = ask("SELECT count(*) FROM Event_Log(TABLE(main.shop.orders)) AS log WHERE log.id IS NOT NULL")
    assert everything == [(len(list(read_events(storage))),)]
    # The Delta table has what the view has: columns, types and rows.
    view, table = (f"SELECT * FROM {name} ORDER BY sequence" for name in ("event_log", "monitoring.events"))
    assert run_sql(project.config, view, spark=spark) == run_sql(project.config, table, spark=spark)
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

    asked = {
        name: ask(query.format(pipeline_id=pipeline_id("orders"))) for name, query in WRITTEN_FOR_DATABRICKS.items()
    }
    assert sorted(asked["rules"]) == sorted(rules)
    batches = [batch for event in events if (batch := batch_progress_of(event)) is not None]
    backlog = [batch for batch in batches if batch.backlog_files is not None]
    counted = [(batch.backlog_bytes, batch.backlog_files) for batch in backlog]
    assert sorted(row[2:] for row in asked["backlog"]) == sorted(counted)
    assert {str(UUID(row[1])) for row in asked["backlog"]} == {row[1] for row in asked["backlog"]}
    assert {row[0] for row in asked["durations"]} == {pipeline_id("orders")}
    begun = {event.origin.update_id: event.timestamp for event in events if event.event_type is EventType.CREATE_UPDATE}
    ended = {row[0]: (row[1] + row[2]).astimezone(UTC) for row in updates}
    assert {row[2]: row[3] for row in asked["durations"]} == {each: ended[each] - begun[each] for each in begun}
    assert {(row[0], read) for row in asked["lineage"] for read in json.loads(row[1])} == set(lineage)
    assert [row[1:] for row in asked["actions"]] == [("START", "ada")] * 2
    fatal = [event.level is Level.ERROR for event in events if event.error is not None]
    assert sorted(row[2] for row in asked["errors"] if row[2] is not None) == sorted(fatal)
    assert {row[3] or "" for row in asked["errors"]} == {row[4] or "" for row in asked["errors"]}
    for refused, named in {
        "origin:update_id": '"origin" has the type "STRUCT',
        "details:flow_progress.data_quality.expectations::array<struct<name: string>>": '"STRING" to "ARRAY',
    }.items():
        with pytest.raises(DefinitionError, match=re.escape(named)) as caught:
            ask(f"SELECT {refused} FROM event_log")
        assert caught.value.condition == "QUERY_ANALYSIS_FAILED"


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


def test_the_view_has_the_events_of_tables_that_the_reader_may_read(
    project: PipelineProject, spark: SparkSession
) -> None:
    recorded_orders(project.config.storage)
    asked: list[str] = []

    def rows(statement: str, *, closed: str | None = None) -> list[tuple[Any, ...]]:
        def sight() -> Any:
            asked.append(statement)
            return everything if closed is None else TableEvents(lambda table: table.name != closed)

        return run_sql(project.config, statement, spark=spark, sight=sight)[1]

    columns = "id, sequence, origin, timestamp, message, level, error, details, event_type"
    all_events = rows(f"SELECT {columns} FROM event_log ORDER BY sequence")
    seen = rows(f"SELECT {columns} FROM event_log('any') ORDER BY sequence", closed="hourly_revenue")
    about = {row[2]["dataset_name"] for row in seen}
    assert about == {row[2]["dataset_name"] for row in all_events} - {"shop.hourly_revenue"}
    unchanged = [row for row in all_events if row[2]["dataset_name"] not in {None, "shop.hourly_revenue"}]
    reports = {"shop.revenue_report"}  # whose definition says what it reads of the closed table
    assert [row for row in unchanged if row[2]["dataset_name"] not in reports] == [
        row for row in seen if row[2]["dataset_name"] not in {None, *reports}
    ]
    assert "-12.5" in str(all_events)
    assert "-12.5" not in str(seen)
    assert not rows("SELECT id FROM event_log WHERE error IS NOT NULL", closed="hourly_revenue")
    rows("SELECT 1 AS one", closed="hourly_revenue")
    assert "SELECT 1 AS one" not in asked, "the grants are read for the event log only"


@pytest.mark.parametrize("statement", ["SELECT * FROM IDENTIFIER({})", "EXECUTE IMMEDIATE 'SELECT * FROM ' || {}"])
def test_no_name_that_is_put_together_reads_the_log(
    project: PipelineProject, spark: SparkSession, statement: str
) -> None:
    project.write("")
    recorded_orders(str(project.directory / ".penstock"))
    spark.catalog.dropTempView("event_log")  # of another query in this session
    with pytest.raises(PenstockError):
        run_sql(project.config, statement.format("'event_' || 'log'"), spark=spark, sight=lambda: everything)
