"""Event hooks beside an event log: order, shape, failures, slowness."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import SourceLocation
from penstock.events import Event, EventLog, EventType, FlowStatus, UpdateState, builders, read_events
from penstock.graph.elements import EventHook
from penstock.runtime.reporting.event_hooks import EventHooks

_PLACE = SourceLocation("pipeline.py", 4)


def _hook(function: Callable[[dict[str, Any]], Any], max_failures: int | None = None) -> EventHook:
    return EventHook("notify", function, _PLACE, max_failures)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    with EventLog.open(str(tmp_path / "storage"), pipeline_name="shop", update_id="u-1") as opened:
        yield opened


def _say(log: EventLog, number: int) -> None:
    log.append(
        EventType.FLOW_PROGRESS, *builders.flow_status(f"flow {number}", FlowStatus.RUNNING), dataset="shop.orders"
    )


def _told(log: EventLog, tmp_path: Path) -> list[Event]:
    log.close()
    return [e for e in read_events(str(tmp_path / "storage")) if e.event_type is EventType.HOOK_PROGRESS]


def test_a_hook_gets_each_event_as_a_dict_in_order_also_those_before_the_files_were_loaded(log: EventLog) -> None:
    seen: list[dict[str, Any]] = []
    threads = set()

    def notify(event: dict[str, Any]) -> None:
        seen.append(event)
        threads.add(threading.current_thread().name)

    with EventHooks(log, Path()) as hooks:
        log.append(EventType.UPDATE_PROGRESS, *builders.update_progress(UpdateState.INITIALIZING, pipeline="shop"))
        hooks.start([_hook(notify)])
        for number in range(50):
            _say(log, number)
    assert [event["sequence"] for event in seen] == list(range(51))
    assert seen[0]["details"] == {"update_progress": {"state": "INITIALIZING"}}
    assert seen[1]["event_type"] == "flow_progress"
    assert seen[1]["details"]["flow_progress"]["status"] == "RUNNING"
    assert seen[1]["origin"]["dataset_name"] == "shop.orders"
    assert seen[1]["level"] == "INFO"
    assert seen[1]["timestamp"].endswith("Z")
    assert threads == {"event hooks"}
    _say(log, 51)
    assert len(seen) == 51, "nothing is delivered after the end"


def test_failures_are_logged_once_a_streak_and_a_success_ends_the_streak(log: EventLog, tmp_path: Path) -> None:
    calls = []

    def notify(event: dict[str, Any]) -> None:
        calls.append(event["sequence"])
        if event["sequence"] in {1, 2, 4}:
            raise SystemExit("no network")

    with EventHooks(log, Path()) as hooks:
        for number in range(6):
            _say(log, number)
        hooks.start([_hook(notify, max_failures=3)])
    told = _told(log, tmp_path)
    assert calls == [0, 1, 2, 3, 4, 5], "its own failures are not given to it"
    assert [event.details["hook_progress"]["status"] for event in told] == ["FAILED", "FAILED"]
    error = told[0].error or {}
    assert (error["condition"], error["file"], error["line"]) == ("EVENT_HOOK_FAILED", "pipeline.py", 4)
    assert error["facts"] == {"name": "notify", "error": "SystemExit", "detail": "no network"}


@pytest.mark.parametrize(("most", "expected"), [(0, 1), (1, 1), (3, 3), (None, 9)])
def test_a_hook_is_disabled_after_so_many_failures_and_the_others_go_on(
    log: EventLog, tmp_path: Path, most: int | None, expected: int
) -> None:
    failing: list[dict[str, Any]] = []
    fine: list[dict[str, Any]] = []

    def notify(event: dict[str, Any]) -> None:
        failing.append(event)
        raise ValueError

    with EventHooks(log, Path()) as hooks:
        hooks.start([_hook(notify, most), _hook(fine.append)])
        for number in range(9):
            _say(log, number)
    assert (len(failing), len(fine)) == (expected, 9)
    statuses = [event.details["hook_progress"]["status"] for event in _told(log, tmp_path)]
    assert statuses == ["FAILED", *([] if most is None else ["DISABLED"])]


def test_a_hook_that_hangs_delays_no_event_and_what_it_missed_is_counted(log: EventLog, tmp_path: Path) -> None:
    release, begun = threading.Event(), threading.Event()

    def notify(_: dict[str, Any]) -> None:
        begun.set()
        release.wait(30)

    with EventHooks(log, Path(), capacity=3, close_seconds=0.05) as hooks:
        hooks.start([_hook(notify)])
        _say(log, 0)
        assert begun.wait(30)
        for number in range(1, 11):
            _say(log, number)
    [told] = _told(log, tmp_path)
    release.set()
    assert told.details["hook_progress"] == {"hook_name": "notify", "status": "DROPPED"}
    assert "10 events" in told.message


def test_without_hooks_nothing_is_kept(log: EventLog, tmp_path: Path) -> None:
    with EventHooks(log, Path(), capacity=1) as hooks:
        hooks.start([])
        for number in range(5):
            _say(log, number)
    assert _told(log, tmp_path) == []
