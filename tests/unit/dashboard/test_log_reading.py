"""A long log is read in pieces, once; pages do not wait for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.recorded.build import RECORDED, SECOND_UPDATE, recorded_orders
from tests.unit.dashboard.conftest import client_of

from penstock.dashboard import live_log
from penstock.dashboard.live_log import LiveLog
from penstock.dashboard.rendering import render
from penstock.events import EventLog, EventType, Level, UpdateState
from penstock.events import builders as say
from penstock.events.reader import EventReader, newest_update_events
from penstock.observe.status import PipelineStatus


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look reads ten events."""
    monkeypatch.setattr(live_log, "_EVENTS_AT_ONCE", 10)
    monkeypatch.setattr(live_log, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(live_log, "_FRESH_SECONDS", 0.0)


def whole_status() -> PipelineStatus:
    log = LiveLog(str(RECORDED))
    log.read_ahead()
    return log.snapshot().status


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
    assert last.status == whole_status()
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


@pytest.mark.usefixtures("slow")
def test_of_a_long_log_the_newest_events_come_first(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded_orders(storage)
    monkeypatch.setattr(live_log, "_LONG_LOG", 1000)
    monkeypatch.setattr(live_log, "_FIRST", 20)
    monkeypatch.setattr(live_log, "_LAST", 10)
    log = LiveLog(storage)
    first = log.snapshot()
    assert first.read < 1
    assert first.status.update is not None
    assert first.status.update.id == SECOND_UPDATE
    assert first.status.update.state is UpdateState.COMPLETED
    assert len(first.status.datasets) == 5
    rows = sum(dataset.rows or 0 for dataset in first.status.datasets)
    log.read_ahead()
    last = log.snapshot()
    assert last.epoch > first.epoch  # so that charts ask for everything again
    assert sum(dataset.rows or 0 for dataset in last.status.datasets) > rows
    assert last.status == whole_status()


@pytest.mark.usefixtures("slow")
def test_commands_and_broken_updates_after_it_do_not_hide_what_the_newest_update_defined(
    storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded_orders(storage)
    for update, said in (
        ("broken", (EventType.CREATE_UPDATE, *say.create_update(pipeline="orders", cause="USER_ACTION", version="1"))),
        ("optimize", (EventType.USER_ACTION, *say.user_action("OPTIMIZE"))),
    ):
        with EventLog.open(storage, pipeline_name="orders", update_id=update) as log:
            log.append(*said)
    monkeypatch.setattr(live_log, "_LONG_LOG", 1000)
    monkeypatch.setattr(live_log, "_LAST", 1)
    first = LiveLog(storage).snapshot()
    assert first.read < 1
    assert first.status.update is not None
    assert first.status.update.id == "broken"
    assert len(first.status.datasets) == len(first.lineage.nodes) - 1 == 5


def test_the_newest_events_are_each_there_once(storage: str) -> None:
    recorded_orders(storage)
    everything = EventReader(storage).poll()
    newest = [event for event in everything if event.origin.update_id == SECOND_UPDATE]
    defined = next(at for at, event in enumerate(newest) if event.level is Level.METRICS)
    for first, last in ((5, 5), (20, 50), (500, 500), (0, 3), (3, 0)):
        found = newest_update_events(storage, first=first, last=last)
        sequences = [event.sequence for event in found]
        assert sequences == sorted(set(sequences))
        assert {event.sequence for event in newest[: min(first, defined)]} <= set(sequences)
        assert {event.sequence for event in everything[len(everything) - last :]} <= set(sequences)
    assert newest_update_events(storage + "x", first=5, last=5) == []
