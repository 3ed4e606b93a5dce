from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.recorded.build import SteppedClock

from penstock.errors import ConfigError
from penstock.events import Event, EventLog, EventReader, EventType, read_events, tail_events
from penstock.events.log import reader as reader_module
from penstock.events.log import segments as segments_module
from penstock.events.log.segments import try_decode
from penstock.storage import Storage


def open_log(storage: Path) -> EventLog:
    clock = SteppedClock(datetime(2026, 11, 20, 9, tzinfo=UTC))
    return EventLog.open(str(storage), pipeline_name="orders", update_id="u", clock=clock)


def say(log: EventLog, message: str) -> None:
    log.append(EventType.USER_ACTION, message, {})


def poll(reader: EventReader, *, limit: int | None = None) -> list[str]:
    return [event.message for event in reader.poll(limit=limit)]


def test_a_poll_returns_what_is_new(tmp_path: Path) -> None:
    reader = EventReader(str(tmp_path))
    assert poll(reader) == []
    with open_log(tmp_path) as log:
        say(log, "a")
        assert poll(reader) == ["a"]
        assert poll(reader) == []
        say(log, "b")
    with open_log(tmp_path) as log:
        say(log, "c")
    assert poll(reader) == ["b", "c"]
    assert reader.generation == 0


def test_a_line_that_is_still_being_written_waits(tmp_path: Path) -> None:
    with open_log(tmp_path) as log:
        say(log, "a")
        say(log, "b")
    segment = next((tmp_path / "events").iterdir())
    whole = segment.read_bytes()
    reader = EventReader(str(tmp_path))
    found: list[str] = []
    for end in range(0, len(whole) + 1, 37):
        segment.write_bytes(whole[:end])
        found += poll(reader)
    segment.write_bytes(whole)
    assert found + poll(reader) == ["a", "b"]
    assert reader.skipped == 0


def test_a_limited_poll_goes_on_where_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments_module, "CHUNK_BYTES", 700)
    for start in (0, 5):
        with open_log(tmp_path) as log:
            for number in range(start, start + 5):
                say(log, str(number))
    reader = EventReader(str(tmp_path))
    assert [poll(reader, limit=4) for _ in range(4)] == [list("0123"), list("4567"), list("89"), []]


def test_lines_that_nobody_understands_are_counted_and_left_out(tmp_path: Path) -> None:
    with open_log(tmp_path) as log:
        say(log, "a")
    with (tmp_path / "events/000001-0001.jsonl").open("ab") as file:
        file.write(b'{"event_type": "of_the_future"}\n\n\xff\xfe\n')
    (tmp_path / "events/notes.txt").write_text("no segment")
    (tmp_path / "events/000001-0002.jsonl").mkdir()
    with open_log(tmp_path) as log:
        say(log, "b")
    reader = EventReader(str(tmp_path))
    assert poll(reader) == ["a", "b"]
    assert reader.skipped == 3
    assert [event.message for event in read_events(str(tmp_path))] == ["a", "b"]


def test_a_log_that_was_deleted_and_started_anew_is_read_from_its_beginning(tmp_path: Path) -> None:
    reader = EventReader(str(tmp_path))
    with open_log(tmp_path) as log:
        say(log, "old 1")
        say(log, "old 2")
    assert poll(reader) == ["old 1", "old 2"]
    shutil.rmtree(tmp_path / "events")
    with open_log(tmp_path) as log:
        say(log, "new")
    assert poll(reader) == ["new"]
    assert reader.generation == 1
    shutil.rmtree(tmp_path / "events")
    assert poll(reader) == []
    assert reader.generation == 2


def test_old_segments_may_go(tmp_path: Path) -> None:
    reader = EventReader(str(tmp_path))
    for name in "abc":
        with open_log(tmp_path) as log:
            say(log, name)
    assert poll(reader) == ["a", "b", "c"]
    (tmp_path / "events/000001-0001.jsonl").unlink()
    with open_log(tmp_path) as log:
        say(log, "d")
    assert poll(reader) == ["d"]
    assert reader.generation == 0


def test_a_poll_that_fails_has_taken_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "ab":
        with open_log(tmp_path) as log:
            say(log, name)
    reader = EventReader(str(tmp_path))
    real = reader.storage.read_bytes

    def failing(location: str, *, start: int = 0, limit: int | None = None) -> bytes:
        if location.endswith("000002-0001.jsonl"):
            raise ConfigError("STORAGE_NOT_READABLE", path=location, reason="gone")
        return real(location, start=start, limit=limit)

    with monkeypatch.context() as patched:
        patched.setattr(reader.storage, "read_bytes", failing)
        with pytest.raises(ConfigError) as caught:
            reader.poll()
        assert caught.value.condition == "STORAGE_NOT_READABLE"
    assert poll(reader) == ["a", "b"]


def test_following_ends_after_what_was_written_before_the_stop(tmp_path: Path) -> None:
    stop = threading.Event()
    seen: list[str] = []

    def follow() -> None:
        for event in EventReader(str(tmp_path)).follow(stop=stop, interval=0.01):
            seen.append(event.message)
            if event.message == "c":
                stop.set()

    thread = threading.Thread(target=follow)
    thread.start()
    with open_log(tmp_path) as log:
        for message in "abc":
            say(log, message)
    thread.join(5)
    assert not thread.is_alive()
    assert seen == ["a", "b", "c"]


@pytest.mark.parametrize("count", [0, 1, 3, 7, 100])
def test_the_tail_is_the_end_of_the_log(tmp_path: Path, count: int) -> None:
    for start in (0, 4):
        with open_log(tmp_path) as log:
            for number in range(start, start + 4):
                say(log, f"{number} {'x' * 20_000}")
    shown = [event.message.split()[0] for event in tail_events(str(tmp_path), count)]
    assert shown == [str(number) for number in range(8)][8 - min(count, 8) :]


def test_the_tail_of_nothing(tmp_path: Path) -> None:
    assert tail_events(str(tmp_path / "none"), 5) == []


def test_only_what_is_asked_for_is_read_and_other_lines_are_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_log(tmp_path) as log:
        for dataset in ("shop.Hours", "shop.hours_late", None, "shop.größe"):
            for kind in (EventType.FLOW_PROGRESS, EventType.ACCOUNTING):
                log.append(kind, f"{dataset} shop", {}, dataset=dataset)
    parsed: list[bytes] = []

    def parsing(line: bytes) -> Event | None:
        parsed.append(line)
        return try_decode(line)

    monkeypatch.setattr(reader_module, "try_decode", parsing)
    told = read_events(str(tmp_path), types=(EventType.FLOW_PROGRESS,), dataset="SHOP.hours")
    assert [event.origin.dataset_name for event in told] == ["shop.Hours", None]
    assert len(parsed) == 3, "the name is in one more line"
    told = read_events(str(tmp_path), dataset="shop.GRÖSSE")
    assert [event.origin.dataset_name for event in told] == [None, None, "shop.größe", "shop.größe"]
    assert len(list(read_events(str(tmp_path), types=(EventType.ACCOUNTING,)))) == 4


def test_what_was_read_before_is_not_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for update in range(4):
        with open_log(tmp_path) as log:
            say(log, f"{update} a")
            say(log, f"{update} b")
    opened: list[str] = []
    read = segments_module.read_lines

    def watched(storage: Storage, uri: str, offset: int = 0) -> Iterator[tuple[bytes, int]]:
        opened.append(uri.rpartition("/")[2])
        return read(storage, uri, offset)

    monkeypatch.setattr(reader_module, "read_lines", watched)
    for after in range(-1, 9):
        assert [event.sequence for event in read_events(str(tmp_path), after_sequence=after)] == list(
            range(after + 1, 8)
        )
    opened.clear()
    list(read_events(str(tmp_path), after_sequence=5))
    assert "000001-0001.jsonl" not in opened
    assert "000002-0001.jsonl" not in opened
