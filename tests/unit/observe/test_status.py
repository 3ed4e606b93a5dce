from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.recorded.build import FIRST_UPDATE, RECORDED, SECOND_UPDATE, first_update, recorded_orders
from tests.unit.observe.story import Story

from penstock.events import (
    BatchAccounts,
    Event,
    EventType,
    FlowStatus,
    MaintenanceProgress,
    UpdateState,
    builders,
    read_events,
)
from penstock.graph.elements import DatasetType
from penstock.observe.current import read_status
from penstock.observe.status.lag import Lag
from penstock.observe.status.pipeline_status import DatasetStatus, StatusProjection, project_status
from penstock.storage import StorageLock

T = "s.t"
RECORDED_EVENTS = list(read_events(str(RECORDED)))


@pytest.fixture
def story() -> Story:
    story = Story()
    story.update("u1")
    story.dataset(T, expectations=[("ok", "a > 0", "drop")])
    story.flow(T)
    story.status(T, FlowStatus.RUNNING)
    return story


def status_of(story: Story, name: str = T) -> DatasetStatus:
    found = project_status(story.events).dataset(name)
    assert found is not None
    return found


def counts(dataset: DatasetStatus) -> list[tuple[str, int, int]]:
    return [(check.name, check.passed, check.failed) for check in dataset.expectations]


def test_the_document_has_the_agreed_keys() -> None:
    document = project_status(RECORDED_EVENTS).to_json()
    assert json.loads(json.dumps(document)) == document
    assert list(document) == ["update", "datasets", "undeclared", "alerts", "resources", "cluster"]
    assert list(document["update"]) == ["id", "state", "started", "ended", "cause", "pipeline", "error"]
    for dataset in document["datasets"]:
        assert list(dataset) == [
            "name",
            "type",
            "status",
            "rows",
            "dropped",
            "quarantined",
            "late",
            "input_rows_per_second",
            "processed_rows_per_second",
            "watermark",
            "lag",
            "state_rows",
            "last_batch_duration_ms",
            "last_batch_at",
            "error",
            "error_since",
            "retry_at",
            "accounts",
            "watermark_warning",
            "state_warning",
            "expectations",
        ]
    silver = document["datasets"][2]
    assert list(silver["expectations"][0]) == ["name", "passed", "failed", "action"]
    assert silver["rows"] + silver["dropped"] + silver["quarantined"] == document["datasets"][0]["rows"]


def test_no_run_yet(tmp_path: Path) -> None:
    assert project_status([]).to_json() == {
        "update": None,
        "datasets": [],
        "undeclared": [],
        "alerts": [],
        "resources": [],
        "cluster": None,
    }
    assert read_status(str(tmp_path / "none")).to_json() == {
        "update": None,
        "datasets": [],
        "undeclared": [],
        "alerts": [],
        "resources": [],
        "cluster": None,
    }
    assert list(tmp_path.iterdir()) == []


def test_a_failed_update_shows_what_failed_and_how_to_go_on() -> None:
    status = project_status(event for event in RECORDED_EVENTS if event.origin.update_id == FIRST_UPDATE)
    assert status.update is not None
    assert (status.update.state, status.update.pipeline) == (UpdateState.FAILED, "orders")
    assert status.update.failed_flows == ("hourly_revenue",)
    shown = {dataset.name: (dataset.status, dataset.type) for dataset in status.datasets}
    assert shown == {
        "shop.bronze_orders": (FlowStatus.COMPLETED, "STREAMING_TABLE"),
        "shop.paid_orders": (None, "VIEW"),
        "shop.silver_orders": (FlowStatus.COMPLETED, "STREAMING_TABLE"),
        "shop.hourly_revenue": (FlowStatus.FAILED, "STREAMING_TABLE"),
        "shop.revenue_report": (FlowStatus.SKIPPED, "MATERIALIZED_VIEW"),
    }
    failed = status.dataset("SHOP.hourly_revenue")
    assert failed is not None
    assert failed.error is not None
    assert failed.error["condition"] == "EXPECTATION_FAILED"
    assert failed.error["fix"]


def test_rows_and_checks_add_up_over_updates(story: Story) -> None:
    story.batch(T, 0, 10, failed=1)
    story.update("u2")
    story.batch(T, 1, 5, failed=2)
    dataset = status_of(story)
    assert (dataset.rows, dataset.dropped, counts(dataset)) == (12, 3, [("ok", 12, 3)])


def test_a_batch_that_runs_again_after_a_crash_counts_once(story: Story) -> None:
    story.batch(T, 0, 10)
    story.batch(T, 1, 7, failed=2)
    story.update("u2")
    story.batch(T, 1, 7, failed=3)
    dataset = status_of(story)
    assert (dataset.rows, dataset.dropped, counts(dataset)) == (14, 3, [("ok", 14, 3)])


@pytest.mark.parametrize("selection", ["all", ["s.t"], ["T"], ["S.T", "s.other"]])
def test_a_full_refresh_starts_the_counts_again(story: Story, selection: list[str]) -> None:
    story.batch(T, 0, 10, failed=1)
    story.update("u2", full_refresh=selection)
    assert status_of(story).rows == 9  # nothing was emptied yet
    story.status(T, FlowStatus.RUNNING)
    assert (status_of(story).rows, status_of(story).last_batch_at) == (0, None)
    story.batch(T, 0, 4, failed=1)
    story.status(T, FlowStatus.RUNNING)  # a restart of the flow in the same update refreshes nothing again
    story.batch(T, 1, 4)
    dataset = status_of(story)
    assert (dataset.rows, dataset.dropped, counts(dataset)) == (7, 1, [("ok", 7, 1)])


def test_a_full_refresh_of_another_table_changes_nothing(story: Story) -> None:
    story.batch(T, 0, 10)
    story.update("u2", full_refresh=["s.other"])
    story.status(T, FlowStatus.RUNNING)
    assert status_of(story).rows == 10


@pytest.mark.parametrize(
    ("kind", "flow_type"), [("MATERIALIZED_VIEW", "materialized_view"), ("STREAMING_TABLE", "complete")]
)
def test_a_replaced_table_has_the_rows_of_its_last_batch(kind: DatasetType, flow_type: str) -> None:
    story = Story()
    for update_id, rows in (("u1", 10), ("u2", 8)):
        story.update(update_id)
        story.dataset(T, kind)
        story.flow(T, flow_type)
        story.batch(T, 0, rows, failed=1)
    dataset = status_of(story)
    assert (dataset.rows, dataset.dropped) == (7, 1)


def test_flows_into_one_table_are_one_dataset(story: Story) -> None:
    story.batch(
        T, 0, 10, watermark="2026-11-20T09:00:00.000Z", state_rows=1, backlog_records=5, input_rows_per_second=1.0
    )
    story.batch(
        T, 0, 20, flow="more", watermark="2026-11-20T08:00:00.000Z", state_rows=2, backlog_files=1,
        input_rows_per_second=2.0, batch_duration_ms=70,
    )  # fmt: skip
    story.status(T, FlowStatus.COMPLETED)
    dataset = status_of(story)
    assert dataset.status is FlowStatus.RUNNING
    assert (dataset.rows, dataset.state_rows, dataset.input_rows_per_second) == (30, 3, 3.0)
    assert (dataset.watermark, dataset.lag) == ("2026-11-20T08:00:00.000Z", Lag(rows=5, files=1))
    assert dataset.last_batch_duration_ms == 70
    story.status(T, FlowStatus.FAILED, flow="more")
    assert status_of(story).status is FlowStatus.FAILED


def test_expectations_of_a_view_are_counted_by_the_flows_that_read_it(story: Story) -> None:
    story.dataset("s.v", "VIEW", expectations=[("ok", "a > 0", "drop"), ("unseen", "b", "warn")])
    story.batch(T, 0, 10, failed=4, of="s.v")
    story.batch("s.other", 0, 5, failed=1, of="S.V")
    view = status_of(story, "s.v")
    assert (view.rows, view.dropped, view.status) == (None, None, None)
    assert counts(view) == [("ok", 10, 5), ("unseen", 0, 0)]
    assert counts(status_of(story)) == [("ok", 0, 0)]


def test_an_expectation_that_changed_or_went_keeps_no_old_counts(story: Story) -> None:
    story.batch(T, 0, 10, failed=4)
    story.update("u2")
    story.dataset(T, expectations=[("ok", "a > 0", "drop")])
    assert counts(status_of(story)) == [("ok", 6, 4)]
    story.dataset(T, expectations=[("ok", "a > 1", "drop")])
    assert counts(status_of(story)) == [("ok", 0, 0)]
    story.update("u3")
    story.dataset(T)
    assert counts(status_of(story)) == []


def test_datasets_that_left_the_pipeline_are_not_shown(story: Story) -> None:
    story.dataset("s.old")
    story.update("u2")
    assert [dataset.name for dataset in project_status(story.events).datasets] == [T, "s.old"]
    story.dataset(T)
    assert [dataset.name for dataset in project_status(story.events).datasets] == [T]


def test_an_error_stays_until_the_flow_runs_again(story: Story) -> None:
    at = story.retry(T, 60)
    waiting = status_of(story)
    error = waiting.error
    assert error is not None
    assert (waiting.status, error["condition"], waiting.retry_at) == (FlowStatus.RETRYING, "KAFKA_UNREACHABLE", at)
    assert waiting.to_json()["retry_at"] == "2026-11-20T09:01:05.000000Z"
    killed = project_status(story.events, writer_alive=False).dataset(T)
    assert killed is not None
    assert (killed.status, killed.retry_at) == (FlowStatus.STOPPED, None), "nobody tries it again"
    story.status(T, FlowStatus.STARTING)
    assert (status_of(story).error, status_of(story).retry_at) == (error, None)
    story.status(T, FlowStatus.RUNNING)
    assert status_of(story).error is None
    story.status(T, FlowStatus.FAILED, error=error)
    story.update("u2")
    assert status_of(story).error is None
    assert status_of(story).status is None


def test_rates_are_those_of_this_update(story: Story) -> None:
    story.batch(T, 0, 1, input_rows_per_second=5.0, processed_rows_per_second=6.0)
    assert (status_of(story).input_rows_per_second, status_of(story).processed_rows_per_second) == (5.0, 6.0)
    story.status(T, FlowStatus.IDLE)
    assert (status_of(story).input_rows_per_second, status_of(story).processed_rows_per_second) == (0.0, 0.0)
    story.update("u2")
    assert status_of(story).input_rows_per_second is None
    assert status_of(story).last_batch_at is not None


def test_a_log_without_definitions_still_shows_its_flows() -> None:
    story = Story()
    story.update_id = "u1"
    story.batch(T, 0, 3, failed=1)
    story.status("s.excluded", FlowStatus.EXCLUDED)
    dataset = status_of(story)
    assert (dataset.type, dataset.rows, counts(dataset)) == (None, 2, [("ok", 2, 1)])
    assert status_of(story, "s.excluded").status is FlowStatus.EXCLUDED


@pytest.mark.parametrize("event_type", EventType)
@pytest.mark.parametrize("details", [{}, {"x": 1}, None, 5, [], "text"])
def test_details_of_another_shape_break_nothing(story: Story, event_type: EventType, details: object) -> None:
    story.say(event_type, ("foreign", {event_type.value: details}), dataset=T, flow="t")
    project_status(story.events).to_json()


def test_an_update_that_another_one_follows_has_ended(story: Story) -> None:
    story.state(UpdateState.RUNNING)
    ended = story.clock.now()
    story.update("u2")
    projection = StatusProjection()
    for event in story.events:
        projection.apply(event)
    second, first = projection.history.updates()
    assert (second.id, second.state, second.ended) == ("u2", UpdateState.WAITING_FOR_RESOURCES, None)
    assert (first.id, first.state, first.ended) == ("u1", UpdateState.FAILED, ended)
    assert first.error is not None
    assert first.error["condition"] == "UPDATE_INTERRUPTED"


def test_what_is_done_between_runs_is_no_update(story: Story) -> None:
    story.batch(T, 0, 10)
    story.status(T, FlowStatus.COMPLETED)
    story.state(UpdateState.COMPLETED)
    before = project_status(story.events, writer_alive=False)
    story.update_id = "maintenance"
    story.say(EventType.USER_ACTION, builders.user_action("OPTIMIZE"), dataset=T)
    story.say(EventType.MAINTENANCE_PROGRESS, builders.maintenance(T, MaintenanceProgress(files_added=1)), dataset=T)
    assert project_status(story.events, writer_alive=False) == before


def test_the_history_tells_what_each_update_moved() -> None:
    projection = StatusProjection()
    for event in RECORDED_EVENTS:
        projection.apply(event)
    second, first = projection.history.updates()
    assert (second.id, first.id) == (SECOND_UPDATE, FIRST_UPDATE)
    written = [progress(event).get("num_output_rows", 0) for event in RECORDED_EVENTS]
    assert first.rows + second.rows == sum(written)
    assert (second.failed_flows, second.cause, second.continuous) == ((), "USER_ACTION", False)


def progress(event: Event) -> dict[str, int]:
    metrics: dict[str, int] = event.details.get("flow_progress", {}).get("metrics") or {}
    return metrics


def test_a_run_that_was_killed_is_not_shown_as_running(tmp_path: Path) -> None:
    storage = str(tmp_path)
    recorded_orders(storage, finished=False)
    with StorageLock(storage):
        alive = read_status(storage)
    killed = read_status(storage)
    assert alive.update is not None
    assert killed.update is not None
    assert (alive.update.state, alive.datasets[0].status) == (UpdateState.RUNNING, FlowStatus.RUNNING)
    assert (killed.update.state, killed.datasets[0].status) == (UpdateState.FAILED, FlowStatus.STOPPED)
    assert killed.update.error is not None
    assert killed.update.error["condition"] == "UPDATE_INTERRUPTED"
    assert killed.update.ended == killed.update.last_event_at
    assert killed.datasets[0].rows == alive.datasets[0].rows


def test_incremental_is_the_same_as_at_once(tmp_path: Path) -> None:
    first_update(str(tmp_path))
    projection = StatusProjection()
    for number, event in enumerate(RECORDED_EVENTS, 1):
        projection.apply(event)
        if number % 10 == 0:
            assert projection.status() == project_status(RECORDED_EVENTS[:number])
    assert projection.status() == read_status(str(RECORDED))


def test_status_starts_no_jvm() -> None:
    program = (
        "import sys; from penstock.observe.current import read_status; read_status(sys.argv[1]);"
        "print(*(name for name in ('pyspark', 'py4j', 'pyarrow', 'pandas') if name in sys.modules))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program, str(RECORDED)], check=True, capture_output=True, text=True, env=dict(os.environ)
    )
    assert shown.stdout.strip() == ""


@pytest.mark.parametrize(
    ("lag", "words"),
    [
        (Lag(rows=1204), "1,204 rows"),
        (Lag(rows=1, bytes=5), "1 row"),
        (Lag(files=3, bytes=1_236_000), "3 files (1.2 MB)"),
        (Lag(rows=0, files=1), "1 file"),
        (Lag(bytes=999), "999 B"),
        (Lag(bytes=5 * 10**15), "5,000.0 TB"),
        (Lag(milliseconds=2_400), "2.4 s"),
        (Lag(rows=0, files=0, bytes=0, milliseconds=0), "none"),
    ],
)
def test_lag_in_words(lag: Lag, words: str) -> None:
    assert str(lag) == words


def test_lag_is_unknown_when_no_source_can_tell(story: Story) -> None:
    story.batch(T, 0, 1)
    assert status_of(story).lag is None
    story.batch(T, 1, 1, backlog_records=0)
    assert status_of(story).lag == Lag(rows=0)


def test_accounts_are_counted_and_a_broken_one_stays_until_a_full_refresh(story: Story) -> None:
    def account(written: int) -> None:
        accounts = BatchAccounts(0, read=3, evaluated=3, written=written)
        error = None if written == 3 else {"condition": "ACCOUNTING_BROKEN", "message": str(written)}
        story.say(EventType.ACCOUNTING, builders.accounting("t", accounts), dataset=T, flow="t", error=error)

    for batch, written in enumerate((3, 1, 2, 3)):
        story.batch(T, batch, 3)
        account(written)
    accounts = status_of(story).accounts
    assert accounts is not None
    assert (accounts.balanced, accounts.broken, accounts.not_checkable) == (2, 2, 0)
    assert accounts.to_json()["error"] == {"condition": "ACCOUNTING_BROKEN", "message": "2"}
    assert status_of(story).error is None  # the flow itself goes on
    story.update("u2", full_refresh=[T])
    story.batch(T, 0, 3)
    account(3)
    assert status_of(story).to_json()["accounts"] == {"balanced": 1, "broken": 0, "not_checkable": 0, "error": None}
