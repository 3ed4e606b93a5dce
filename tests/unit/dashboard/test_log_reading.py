"""A long log is read in pieces, once; pages do not wait for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.recorded.build import RECORDED, recorded_orders
from tests.unit.dashboard.conftest import client_of

from penstock.dashboard import live_log
from penstock.dashboard.live_log import LiveLog
from penstock.dashboard.rendering import render
from penstock.events.reader import EventReader


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look reads ten events."""
    monkeypatch.setattr(live_log, "_EVENTS_AT_ONCE", 10)
    monkeypatch.setattr(live_log, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(live_log, "_FRESH_SECONDS", 0.0)


@pytest.mark.usefixtures("slow")
def test_pages_show_what_is_read_so_far(storage: str) -> None:
    recorded_orders(storage)
    log = LiveLog(storage)
    first = log.snapshot()
    assert 0 < first.read < 1
    assert first.status.update is not None
    assert not first.status.update.state.terminal  # nobody calls it interrupted before its end was read
    log.read_ahead()
    last = log.snapshot()
    assert last.read == 1
    assert last.status == LiveLog(str(RECORDED)).snapshot().status or last.status.update is not None
    assert last.version != first.version


@pytest.mark.usefixtures("slow")
def test_the_page_says_how_much_is_read(storage: str) -> None:
    recorded_orders(storage)
    client = client_of(storage)
    assert "The event log is being read" in client.get("/").text
    for _ in range(30):
        page = client.get("/").text
    assert "The event log is being read" not in page


def test_a_storage_that_fails_for_a_moment_is_not_read_again(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded_orders(storage)
    monkeypatch.setattr(live_log, "_FRESH_SECONDS", 0.0)
    log = LiveLog(storage)
    log.snapshot()
    read = 0
    poll = EventReader.poll

    def counted(self: EventReader, *, limit: int | None = None) -> list[object]:
        nonlocal read
        events = poll(self, limit=limit)
        read += len(events)
        return list(events)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as context:
        context.setattr(live_log, "is_locked", refuse)
        assert log.snapshot().problem is not None
    monkeypatch.setattr(EventReader, "poll", counted)
    after = log.snapshot()
    assert after.problem is None
    assert after.status.update is not None
    assert read == 0


def test_what_a_window_keeps_has_no_details(storage: str) -> None:
    recorded_orders(storage)
    log = LiveLog(storage)
    log.snapshot()
    events, _ = log.projections.window.newest(1000)
    assert events
    assert all(event.details == {} for event in events)


def test_a_page_is_made_once_for_all_its_viewers(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded_orders(storage)
    made = []

    def counted(template: str, **values: Any) -> bytes:
        made.append(template)
        return render(template, **values)

    monkeypatch.setattr("penstock.dashboard.site.render", counted)
    client = client_of(storage)
    pages = {client.get("/problems").content for _ in range(5)}
    assert len(pages) == len(made) == 1
    with (Path(storage) / "events" / "000003-0001.jsonl").open("w") as file:
        line = json.loads((Path(storage) / "events" / "000001-0001.jsonl").read_text().splitlines()[0])
        file.write(json.dumps({**line, "id": "new", "sequence": 10_000}) + "\n")
    monkeypatch.setattr(live_log, "_FRESH_SECONDS", 0.0)
    client.get("/problems")
    assert len(made) == 2
