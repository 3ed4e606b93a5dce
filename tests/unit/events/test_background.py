"""A thread beside a run that fails, or cannot be started, is one warning and ends nothing."""

from __future__ import annotations

import threading
from pathlib import Path
from unittest.mock import Mock

import pytest

from penstock.events import EventLog, EventType, Level, read_events
from penstock.events.background import BackgroundThread


def warnings(storage: Path) -> list[tuple[Level, str]]:
    found = [event for event in read_events(str(storage)) if event.event_type is EventType.HOOK_PROGRESS]
    return [(each.level, (each.error or {})["facts"]["detail"]) for each in found]


@pytest.mark.parametrize("failure", [ValueError("x"), MemoryError(), SystemExit(1)])
def test_what_it_raises_is_one_warning(tmp_path: Path, failure: BaseException) -> None:
    with EventLog.open(str(tmp_path), pipeline_name="p", update_id="u") as log:
        thread = BackgroundThread(Mock(side_effect=failure), "beside", log)
        thread.start()
        thread.join(5)
    assert warnings(tmp_path) == [(Level.WARN, repr(failure))]


def test_a_thread_that_the_system_does_not_allow_is_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EventLog.open(str(tmp_path), pipeline_name="p", update_id="u") as log:
        thread = BackgroundThread(Mock(), "beside", log)
        monkeypatch.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError("can't start new thread")))
        thread.start()
        thread.join()
    assert [level for level, _ in warnings(tmp_path)] == [Level.WARN]
