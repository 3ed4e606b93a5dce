"""A long log is read in pieces, once; pages do not wait for it."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.recorded.build import RECORDED, SECOND_UPDATE, recorded_orders
from tests.recorded.years import BEGINNING, TABLES, Recorder
from tests.unit.dashboard.conftest import client_of
from tests.unit.observe.test_retention import of_pages

from penstock.dashboard.log import live_log, partial_snapshot
from penstock.dashboard.log.live_log import LiveLog
from penstock.dashboard.log.projections import Projections
from penstock.dashboard.rendering import render
from penstock.events import EventLog, EventType, Level, UpdateState
from penstock.events import builders as say
from penstock.events.log import event_log
from penstock.events.log.reader import EventReader, newest_update_events
from penstock.observe.log import totals
from penstock.observe.log.retention import compact
from penstock.observe.log.totals import bring_up_to_date
from penstock.observe.status.pipeline_status import PipelineStatus


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
    monkeypatch.setattr(partial_snapshot, "LONG_LOG", 1000)
    monkeypatch.setattr(partial_snapshot, "_FIRST", 20)
    monkeypatch.setattr(partial_snapshot, "_LAST", 10)
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
    monkeypatch.setattr(partial_snapshot, "LONG_LOG", 1000)
    monkeypatch.setattr(partial_snapshot, "_LAST", 1)
    first = LiveLog(storage).snapshot()
    assert first.read < 1
    assert first.status.update is not None
    assert first.status.update.id == "broken"
    assert len(first.status.datasets) == len(first.lineage.nodes) - 1 == 5


@pytest.fixture
def years(storage: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A long log with totals."""
    monkeypatch.setattr(event_log, "_SEGMENT_BYTES", 20_000)
    monkeypatch.setattr(partial_snapshot, "LONG_LOG", 60_000)
    monkeypatch.setattr(totals, "WORTH_IT", 1)
    Recorder(storage, 5, batches=8).record(10)
    bring_up_to_date(storage)
    return storage


def whole(storage: str) -> Projections:
    pages = Projections()
    for event in EventReader(storage).poll():
        pages.apply(event)
    return pages


@pytest.mark.usefixtures("slow")
def test_of_a_log_with_totals_states_and_sums_are_right_at_once(years: str) -> None:
    Recorder(years, 6, day=20).define()
    log = LiveLog(years)
    first = log.snapshot()
    assert (first.read, first.sums) == (0, True)
    assert of_pages(log.projections) == of_pages(whole(years))
    assert len(log.projections.window) < len(whole(years).window)
    Recorder(years, 7, batches=8, day=30).record(1)
    second = log.snapshot()
    assert second.read < 0.2
    assert (second.sums, second.epoch) == (True, first.epoch)
    assert of_pages(log.projections) == of_pages(whole(years))
    log.read_ahead()
    last = log.snapshot()
    assert (last.read, last.sums) == (1, True)
    assert last.epoch > first.epoch  # so that charts ask for everything again
    expected = whole(years)
    assert of_pages(log.projections) == of_pages(expected)
    assert log.projections.window.newest(9999) == expected.window.newest(9999)
    for table in TABLES:
        assert log.projections.series.of(table) == expected.series.of(table)
    for update in expected.status.history.updates():
        assert log.projections.updates.of(update.id) == expected.updates.of(update.id)


@pytest.mark.usefixtures("slow")
@pytest.mark.parametrize("what", ["damaged", "of another log", "old", "none"])
def test_totals_that_do_not_help_are_passed_over(years: str, what: str, tmp_path: Path) -> None:
    stored = Path(years) / "events" / "_totals"
    match what:
        case "damaged":
            stored.write_bytes(stored.read_bytes().replace(b'\\"rows\\":', b'\\"rows\\":1'))
        case "of another log":
            other = str(tmp_path / "other")
            Recorder(other, 8, batches=8).record(10)
            bring_up_to_date(other)
            stored.write_bytes((Path(other) / "events" / "_totals").read_bytes())
        case "old":
            Recorder(years, 6, batches=30, day=20).record(5)
        case _:
            stored.unlink()
    log = LiveLog(years)
    first = log.snapshot()
    assert (first.read, first.sums) == (0, False)
    log.read_ahead()
    assert log.snapshot().sums
    assert of_pages(log.projections) == of_pages(whole(years))


@pytest.mark.usefixtures("slow")
def test_a_long_log_that_is_begun_anew_or_compacted_while_it_is_read(years: str) -> None:
    log = LiveLog(years)
    log.snapshot()
    compact(years, BEGINNING + timedelta(days=5))
    assert of_pages(log.projections) == of_pages(whole(years))
    log.snapshot()
    assert of_pages(log.projections) == of_pages(whole(years))
    shutil.rmtree(years)
    Recorder(years, 9, batches=8).record(2)
    log.snapshot()
    log.read_ahead()
    assert of_pages(log.projections) == of_pages(whole(years))


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
