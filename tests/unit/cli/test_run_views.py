"""What `run` shows, on a recorded log: lines for a pipe, a table for a terminal, a summary at the end."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.recorded.build import FIRST_UPDATE, RECORDED, recorded_orders
from tests.unit.observe.story import Story

from penstock.cli.screen import progress_view, summary
from penstock.cli.screen.console import table
from penstock.cli.screen.progress_view import LiveTable, PlainLines, event_line
from penstock.cli.screen.report import Report
from penstock.cli.screen.status_view import problems, quality_table, status_table, update_line
from penstock.cli.screen.summary import print_summary
from penstock.cli.stopping import StopNow
from penstock.errors import DataError
from penstock.events import (
    Event,
    EventType,
    FlowStatus,
    LateRows,
    Level,
    MaintenanceProgress,
    Origin,
    UpdateState,
    builders,
    read_events,
)
from penstock.events.alerts import Alert, alert
from penstock.observe.status.pipeline_status import PipelineStatus, project_status


@pytest.fixture(scope="module")
def recorded() -> list[Event]:
    return list(read_events(str(RECORDED)))


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=120, markup=False, highlight=False)
    monkeypatch.setattr(progress_view, "stderr", lambda: console)
    monkeypatch.setattr(summary, "stderr", lambda: console)
    return iter([written])


def drawn(renderable: object, width: int = 160) -> str:
    written = io.StringIO()
    Console(file=written, width=width, markup=False).print(renderable)
    return written.getvalue()


def error_lines(status: PipelineStatus) -> list[str]:
    return [line for problem in problems(status) for line in problem]


def test_plain_lines_tell_transitions_and_batches(recorded: list[Event]) -> None:
    lines: list[str] = []
    with PlainLines(lines.append) as view:
        for event in recorded:
            view.on_event(event)
    text = "\n".join(lines)
    assert "update running" in text
    assert "shop.silver_orders completed" in text
    batches = [event for event in recorded if (event.details.get("flow_progress") or {}).get("metrics") is not None]
    assert sum(" rows in, " in line for line in lines) == len(batches) > 0
    assert any("dropped" in line and "/s" in line for line in lines)
    assert not any("queued" in line for line in lines)


def _told(recorded: list[Event], kind: EventType, level: Level, said: tuple[str, Any], origin: Origin) -> Event:
    """An event of the recorded run that says something else."""
    message, details = said
    return replace(recorded[0], event_type=kind, level=level, message=message, details=details, origin=origin)


def test_a_table_that_was_looked_after_has_a_line(recorded: list[Event]) -> None:
    done = MaintenanceProgress(files_added=1, files_removed=40, files_deleted=3, pruned=("old",))
    said = builders.maintenance("shop.orders", done)
    origin = replace(recorded[0].origin, dataset_name="shop.orders")
    told = _told(recorded, EventType.MAINTENANCE_PROGRESS, Level.INFO, said, origin)
    words = (
        "shop.orders maintained: 40 files became 1, 3 files that no version needs deleted, 1 former checkpoint removed"
    )
    assert str(event_line(told)).endswith(words)
    message, _ = builders.maintenance("shop.orders", MaintenanceProgress(kept_because="a flow lags"))
    assert message == "shop.orders: nothing to put together or to delete: a flow lags"


def test_a_line_names_its_dataset_once(recorded: list[Event]) -> None:
    late = LateRows("q", 4, 2, 2, "shop.pages__late")
    said = builders.late_rows("shop.pages", late)
    origin = replace(recorded[0].origin, dataset_name="shop.pages")
    told = _told(recorded, EventType.LATE_ROWS, Level.WARN, said, origin)
    words = "shop.pages batch 4 dropped 2 late rows, kept in shop.pages__late: penstock late show shop.pages"
    assert str(event_line(told)).split(" ", 1)[1] == words


def test_a_line_says_once_that_a_flow_failed(recorded: list[Event]) -> None:
    said = builders.flow_status("orders", FlowStatus.FAILED, reason="the disk is full")
    origin = replace(recorded[0].origin, dataset_name="shop.orders", flow_name="orders")
    told = _told(recorded, EventType.FLOW_PROGRESS, Level.ERROR, said, origin)
    assert str(event_line(told)).split(" ", 1)[1] == "shop.orders failed: the disk is full"


def test_a_flow_that_waits_for_its_next_try_says_why_and_until_when() -> None:
    story = Story()
    story.update("u")
    story.dataset("shop.orders")
    at = story.retry("shop.orders", 12.5)
    reason = "No Kafka bootstrap server answers: broker:9092."
    line = str(event_line(story.events[-1]))
    assert line.endswith(f"shop.orders retrying: orders failed and is tried again in 12.5 s: {reason}")
    status = project_status(story.events)
    assert "retrying" in drawn(status_table(status))
    lines = error_lines(status)
    assert lines[0] == f"[KAFKA_UNREACHABLE] {reason}"
    assert lines[-1] == f"  Next try at {at.astimezone():%H:%M:%S}"


def test_status_says_what_fires_since_when_and_what_to_type() -> None:
    story = Story()
    story.update("u")
    story.dataset("shop.orders")
    since, fired = datetime(2026, 3, 1, 3, tzinfo=UTC), datetime(2026, 3, 1, 3, 5, tzinfo=UTC)
    stale = {"condition": "TABLE_STALE", "message": "shop.orders is stale\x1b[2J.", "fix": "Type 'penstock run'."}
    story.say(EventType.ALERT, alert(Alert("freshness", "shop.orders", None, stale, since, fired)))
    times = f"wrong since {since.astimezone():%Y-%m-%d %H:%M:%S}, firing since {fired.astimezone():%Y-%m-%d %H:%M:%S}"
    assert error_lines(project_status(story.events)) == [
        f"Alert freshness, shop.orders: {times}",
        "  [TABLE_STALE] shop.orders is stale.",
        "    Fix: Type 'penstock run'.",
    ]


def test_status_tells_an_error_once_that_an_alert_tells_too() -> None:
    story = Story()
    story.update("u")
    story.dataset("shop.orders")
    story.retry("shop.orders", 12.5)
    moment = datetime(2026, 3, 1, 3, tzinfo=UTC)
    failed = {"condition": "KAFKA_UNREACHABLE", "message": "No Kafka bootstrap server answers: another:9092."}
    story.say(EventType.ALERT, alert(Alert("failed", "shop.orders", "orders", failed, moment, moment)))
    lines = error_lines(project_status(story.events))
    assert sum("KAFKA_UNREACHABLE" in line for line in lines) == 1
    assert lines[-1].startswith("Alert failed, shop.orders: wrong since ")


def test_plain_lines_hold_no_control_characters(recorded: list[Event]) -> None:
    bad = replace(recorded[0], level=Level.ERROR, event_type=EventType.USER_ACTION, message="\x1b[2J\nboom\x07")
    assert event_line(bad) is not None
    assert str(event_line(bad)).endswith(" boom")


def test_progress_is_said_once(recorded: list[Event]) -> None:
    lines: list[str] = []
    with PlainLines(lines.append) as view:
        view.progress("Starting Spark")
        view.progress("Starting Spark")
        view.announce("Stopping")
    assert [line[9:] for line in lines] == ["Starting Spark", "Stopping"]


def test_a_display_that_hangs_holds_nothing_up(recorded: list[Event]) -> None:
    reads = threading.Event()
    lines: list[str] = []

    def write(line: str) -> None:
        assert reads.wait(30)
        lines.append(line)

    with PlainLines(write) as view:
        for event in recorded:
            view.on_event(event)
        assert lines == []
        assert view.status().datasets
        reads.set()
    assert "update running" in "\n".join(lines)


@pytest.mark.timeout(10)
def test_a_run_that_ends_at_once_does_not_wait_for_its_display() -> None:
    reads = threading.Event()
    view = PlainLines(lambda _line: print(reads.wait(30)))
    view.__enter__()
    view.announce("Stopping")
    view.__exit__(StopNow, StopNow(2), None)
    reads.set()


def test_the_live_table_shows_datasets_rates_and_what_went_wrong(
    recorded: list[Event], terminal: Iterator[io.StringIO]
) -> None:
    written = next(terminal)
    first = [event for event in recorded if event.origin.update_id == FIRST_UPDATE]
    with LiveTable() as view:
        view.progress("Starting Spark")
        view.refresh()
        writers = [threading.Thread(target=view.on_event, args=(event,)) for event in first]
        for writer in writers:  # events come from any thread, one after the other
            writer.start()
            writer.join()
        view.refresh()
    text = written.getvalue()
    assert "Starting Spark" in text
    for word in ("bronze_orders", "silver_orders", "failed", "skipped", "/s"):
        assert word in text
    reasons = [event.message.partition(" is FAILED: ")[2][:40] for event in first if event.level is Level.ERROR]
    assert any(reason and reason in text for reason in reasons)


def test_the_live_table_says_how_long_it_still_takes(terminal: Iterator[io.StringIO]) -> None:
    story = Story()
    story.update("u")
    for name, waiting in (("s.slow", (900, 600, 300)), ("s.quick", (2, 1, 0)), ("s.behind", (1, 5, 9))):
        story.dataset(name)
        story.status(name, FlowStatus.RUNNING)
        for batch, rows in enumerate(waiting):
            story.batch(name, batch, 100, backlog_records=rows)
    with LiveTable() as view:
        for event in story.events:
            view.on_event(event)
        view.refresh()
        shown = next(terminal).getvalue()
    assert "about 1.0 s left" in shown
    assert "slow catches up in about 1.0 s at this pace" in shown
    assert "behind falls behind: the backlog grew from 1 to 9 rows in 3 batches" in shown
    assert "quick catches" not in shown


def test_a_run_of_many_datasets_shows_what_is_wrong_on_a_small_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story()
    story.update("u")
    for number in range(60):
        name = f"s.dataset_{number:02}"
        story.dataset(name)
        story.status(name, FlowStatus.RUNNING)
        for batch, rows in enumerate((1, 5, 9) if number == 30 else (9, 6, 3)):
            story.batch(name, batch, 100, backlog_records=rows)
    story.retry("s.dataset_47", 12.5)
    monkeypatch.setenv("NO_COLOR", "1")
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=80, height=24, markup=False)
    monkeypatch.setattr(progress_view, "stderr", lambda: console)
    with LiveTable() as view:
        for event in story.events:
            view.on_event(event)
        view.refresh()
        drawing = written.getvalue()
    shown = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", drawing).splitlines()[-24:]
    assert not re.search(r"\x1b\[(\d+;)*3\d", drawing)
    assert shown[0].startswith("p: ")
    assert any(line.startswith("[KAFKA_UNREACHABLE] ") for line in shown[1:3])  # the first line is folded in time
    assert re.fullmatch(r"… \d+ more datasets: 'penstock status' prints all", shown[-1])
    text = "\n".join(shown)
    for word in ("  Fix: ", "Next try at", "dataset_30 falls behind", "dataset_47  retrying"):
        assert word in text


def test_a_screen_that_holds_the_first_problem_only_says_how_many_there_are() -> None:
    problems_of = [[f"[PROBLEM_{number}]", "  Fix: one", "  Fix: two"] for number in range(5)]
    report = Report(["head"], problems_of, rows=4, table=lambda rows: table([("t", False)], [("r",)] * rows))
    written = io.StringIO()
    Console(file=written, width=80, height=12).print(report)
    shown = written.getvalue().splitlines()
    assert len(shown) == 12
    assert shown[1] == "[PROBLEM_0]"
    assert shown[-1] == "… 4 more problems, 1 more dataset: 'penstock status' prints all"


def test_in_eighty_columns_nothing_is_cut() -> None:
    story = Story()
    story.update("u")
    for name in ("shop.customers_with_all_their_orders", "shop.bronze_orders"):
        story.dataset(name, expectations=[("positive amount", "a > 0", "quarantine")])
        story.status(name, FlowStatus.RUNNING)
        story.batch(
            name, 1, 1_234_567, failed=12_345, quarantined_records=23_456, late_rows=34_567, batch_duration_ms=200_000,
            input_rows_per_second=123_456.0, processed_rows_per_second=98_765.4,
        )  # fmt: skip
    status = project_status(story.events)
    for shown in (drawn(status_table(status), 80), drawn(quality_table(status), 80)):
        assert max(map(len, shown.splitlines())) <= 80
        assert "…" not in shown
    row = next(line for line in drawn(status_table(status), 80).splitlines() if "bronze_orders" in line)
    for number in ("running", "1.2M", "12.3k", "23.5k", "34.6k", "123k/s", "98.8k/s", "3 min 20 s"):
        assert number in row


def test_numbers_shown_are_those_of_the_status(recorded: list[Event]) -> None:
    status = project_status(recorded)
    shown = drawn(status_table(status))
    for dataset in status.datasets:
        if dataset.rows is not None:
            assert f"{dataset.rows:,}" in shown
    quality = drawn(quality_table(status))
    for dataset in status.datasets:
        for check in dataset.expectations:
            assert check.name in quality
            assert f"{check.failed:,}" in quality


def test_an_update_whose_process_is_gone_is_told_as_failed(tmp_path: Path) -> None:
    recorded_orders(str(tmp_path), finished=False)
    status = project_status(read_events(str(tmp_path)), writer_alive=False)
    assert "failed" in update_line(status)
    assert any("UPDATE_INTERRUPTED" in line for line in error_lines(status))


def test_summary_of_a_failed_run_shows_the_error_and_the_way_on(
    recorded: list[Event], terminal: Iterator[io.StringIO], capsys: pytest.CaptureFixture[str]
) -> None:
    next(terminal)
    first = project_status(event for event in recorded if event.origin.update_id == FIRST_UPDATE)
    error = DataError("UNKNOWN_CONDITION", name="x", hint="")
    print_summary(UpdateState.FAILED, (error,), this_run=first, total=first)
    said = capsys.readouterr().err
    assert "UNKNOWN_CONDITION" in said
    assert "Failed with 1 error" in said
    assert "penstock events" in said


def test_summary_of_a_good_run_tells_what_is_new_and_what_there_is(
    recorded: list[Event], terminal: Iterator[io.StringIO], capsys: pytest.CaptureFixture[str]
) -> None:
    written = next(terminal)
    second = project_status(event for event in recorded if event.origin.update_id != FIRST_UPDATE)
    total = project_status(recorded)
    print_summary(UpdateState.COMPLETED, (), this_run=second, total=total)
    text = written.getvalue()
    for status in (second, total):
        bronze = status.dataset("shop.bronze_orders")
        assert bronze is not None
        assert f"{bronze.rows:,}" in text
    assert "Done" in capsys.readouterr().err
