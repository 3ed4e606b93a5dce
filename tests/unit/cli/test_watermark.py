"""`penstock watermark`, on an event log written without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.events import BatchProgress, EventLog, EventType, FlowStatus, Lateness, builders

MINUTE = 60_000
runner = CliRunner()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text("name: orders\nschema: shop\n")
    with EventLog.open(str(tmp_path / ".penstock"), pipeline_name="orders", update_id="u1") as log:
        for flow in ("hours", "more"):
            definition = builders.flow_definition(
                flow,
                output_dataset="shop.hours",
                flow_type="append",
                stateful=("aggregate",),
                watermark=("ordered_at", "10 minutes"),
            )
            log.append(EventType.FLOW_DEFINITION, *definition, dataset="shop.hours", flow=flow)
        late = Lateness(1_000_000, 10 * MINUTE, 60 * MINUTE, {0: 4000, 100: 3, 20 * MINUTE: 12})
        progress = BatchProgress(0, 1, 1, state_rows=700, state_bytes=70_000, lateness=late)
        batch = builders.flow_batch("hours", progress)
        log.append(EventType.FLOW_PROGRESS, *batch, dataset="shop.hours", flow="hours", batch_id=0)
        plain = builders.flow_definition("visits", output_dataset="shop.visits", flow_type="append")
        log.append(EventType.FLOW_DEFINITION, *plain, dataset="shop.visits", flow="visits")
        counted = builders.flow_definition(
            "days", output_dataset="web.days", flow_type="append", stateful=("aggregate",), watermark=("at", "1 day")
        )
        log.append(EventType.FLOW_DEFINITION, *counted, dataset="web.days", flow="days")
        built = builders.dataset_definition("shop.Hours", dataset_type="STREAMING_TABLE")
        log.append(EventType.DATASET_DEFINITION, *built, dataset="shop.Hours")
    return tmp_path


def _watermark(*words: str, code: int = 0) -> Any:
    result = runner.invoke(app, ["watermark", *words], env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result


def test_people_see_what_each_delay_costs_and_which_one_to_take(project: Path) -> None:
    result = _watermark("hours", str(project))
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["0", "seconds", "4,015", "4,015", "4,141", "0", "ms", "600", "60.0", "kB"] in lines
    assert any(line[:2] == ["10", "minutes"] and line[-1] == "current" for line in lines)
    assert any(line[:3] == ["100", "milliseconds", "15"] and line[-1] == "recommended" for line in lines)
    assert any(line[:3] == ["200", "milliseconds", "12"] for line in lines)
    assert not any(line[:2] == ["45", "seconds"] for line in lines), "costs more than 200 ms and saves nothing"
    assert "1,000,000 rows measured in 1 batch." in result.stderr
    assert 'withWatermark("ordered_at", "100 milliseconds")' in result.stderr


def test_json_has_all_delays(project: Path) -> None:
    [flow] = json.loads(_watermark("shop.hours", str(project), "--json", "--target", "10").stdout)["flows"]
    assert (flow["flow"], flow["rows"], flow["current_delay_ms"]) == ("hours", 1_000_000, 10 * MINUTE)
    assert flow["recommended_delay_ms"] == 30 * MINUTE
    assert [each["lost"] for each in flow["delays"] if each["delay_ms"] in (0, 100, 200, 30 * MINUTE)] == [
        4015,
        15,
        12,
        0,
    ]


def test_too_few_rows_promise_nothing(project: Path) -> None:
    assert "Too few rows" in _watermark("hours", str(project), "--target", "1").stderr


@pytest.mark.parametrize("target", ["0", "-1", "1000000"])
def test_a_target_that_is_none(project: Path, target: str) -> None:
    _watermark("hours", str(project), "--target", target, code=2)


@pytest.mark.parametrize(("table", "reason"), [("visits", "None of its queries"), ("web.days", "No batch of it")])
def test_a_table_that_was_not_measured(project: Path, table: str, reason: str) -> None:
    error = _error(project, table)
    assert error["condition"] == "LATENESS_NOT_MEASURED"
    assert reason in error["message"]


def test_a_name_that_is_no_table(project: Path) -> None:
    (project / ".penstock/tables/shop/hours/_delta_log").mkdir(parents=True)
    error = _error(project, "huors")
    assert error["condition"] == "TABLE_NOT_FOUND"
    assert "'Hours'" in error["message"]


def test_a_table_of_another_schema_is_found_as_in_other_commands(project: Path) -> None:
    (project / ".penstock/tables/web/days/_delta_log").mkdir(parents=True)
    with EventLog.open(str(project / ".penstock"), pipeline_name="orders", update_id="u2") as log:
        progress = BatchProgress(0, 9, 9, lateness=Lateness(9, 24 * 60 * MINUTE))
        log.append(EventType.FLOW_PROGRESS, *builders.flow_batch("days", progress), dataset="web.days", flow="days")
    assert "9 rows measured in 1 batch." in _watermark("days", str(project)).stderr


def test_people_see_on_how_much_it_is_based(project: Path) -> None:
    with EventLog.open(str(project / ".penstock"), pipeline_name="orders", update_id="u2") as log:
        for batch in (1, 2):
            progress = builders.flow_batch("hours", BatchProgress(batch, 500, 1))
            log.append(EventType.FLOW_PROGRESS, *progress, dataset="shop.hours", flow="hours", batch_id=batch)
    told = _watermark("hours", str(project)).stderr
    assert "1,000,000 rows measured, in 1 of 3 batches: 1 of 1,001 rows read." in told


def test_a_flow_that_is_not_measured_is_named_with_its_reason(project: Path) -> None:
    joined = "it joins two streams, and predicates of the join would not get past the counting"
    with EventLog.open(str(project / ".penstock"), pipeline_name="orders", update_id="u2") as log:
        for dataset, flow in (("shop.hours", "more"), ("web.days", "days")):
            running = builders.flow_status(flow, FlowStatus.RUNNING, lateness_not_measured=joined)
            warned = builders.flow_status(flow, FlowStatus.RUNNING, reason="a file was read before it was whole")
            log.append(EventType.FLOW_PROGRESS, *running, dataset=dataset, flow=flow)
            log.append(EventType.FLOW_PROGRESS, *warned, dataset=dataset, flow=flow)
    assert f"Not measured is the flow 'more': {joined}." in _watermark("hours", str(project)).stderr
    shown = json.loads(_watermark("hours", str(project), "--json").stdout)["not_measured"]
    assert shown == [{"dataset": "shop.hours", "flow": "more", "reason": joined}]
    assert f"The flow 'days': {joined}." in _error(project, "web.days")["message"]
    with EventLog.open(str(project / ".penstock"), pipeline_name="orders", update_id="u3") as log:
        for status in (FlowStatus.STARTING, FlowStatus.RUNNING):
            told = builders.flow_status("days", status)
            log.append(EventType.FLOW_PROGRESS, *told, dataset="web.days", flow="days")
    assert "No batch of it was counted." in _error(project, "web.days")["message"], "the query is another one now"


def _error(project: Path, table: str) -> Any:
    [error] = json.loads(_watermark(table, str(project), "--json", code=2).stdout)["errors"]
    return error
