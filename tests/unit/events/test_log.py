from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
import threading
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest
from tests.recorded.build import SteppedClock

from penstock.errors import ConfigError, DataError, ExternalError, SourceLocation
from penstock.events import Event, EventLog, EventType, Level, Origin, UpdateState, builders, new_update_id, read_events
from penstock.events.log import event_log as log_module
from penstock.storage import Storage

CLOCK = SteppedClock(datetime(2026, 11, 20, 9, tzinfo=UTC))


def open_log(storage: Path | str, update_id: str = "u1") -> EventLog:
    return EventLog.open(str(storage), pipeline_name="orders", update_id=update_id, clock=CLOCK, host="h")


def say(log: EventLog, message: str = "hello", **more: Any) -> Event:
    return log.append(EventType.UPDATE_PROGRESS, message, {"update_progress": {"state": "RUNNING"}}, **more)


def messages(storage: Path | str) -> list[str]:
    return [event.message for event in read_events(str(storage))]


def test_what_is_appended_is_read_back(tmp_path: Path) -> None:
    with open_log(tmp_path) as log:
        assert log.update_id == "u1"
        event = say(log, dataset="shop.t", flow="f", batch_id=3, level=Level.WARN)
        assert list(read_events(str(tmp_path))) == [event]  # before close: each line is flushed
    assert event.sequence == 0
    assert event.timestamp == CLOCK.now()
    assert (event.origin.dataset_name, event.origin.flow_name, event.origin.batch_id) == ("shop.t", "f", 3)
    assert (event.origin.pipeline_name, event.origin.host, event.level) == ("orders", "h", Level.WARN)


def test_opening_and_reading_make_nothing(tmp_path: Path) -> None:
    open_log(tmp_path / "new").close()
    assert messages(tmp_path / "new") == []
    assert list(tmp_path.iterdir()) == []


def test_sequences_go_on_across_updates_and_each_has_its_segment(tmp_path: Path) -> None:
    for update in range(3):
        with open_log(tmp_path, f"u{update}") as log:
            say(log)
            say(log)
    events = list(read_events(str(tmp_path)))
    assert [event.sequence for event in events] == list(range(6))
    assert len({event.id for event in events}) == 6
    assert [path.name for path in segments(tmp_path)] == [f"00000{n}-0001.jsonl" for n in (1, 2, 3)]
    assert [event.sequence for event in read_events(str(tmp_path), after_sequence=3)] == [4, 5]


@pytest.mark.parametrize("torn", [1, 30, -1])
def test_a_line_torn_by_a_crash_costs_itself_only(tmp_path: Path, torn: int) -> None:
    with open_log(tmp_path) as log:
        say(log, "kept")
        say(log, "torn")
    first, second = segments(tmp_path)[0].read_bytes().splitlines(keepends=True)
    segments(tmp_path)[0].write_bytes(first + second[:torn])
    with open_log(tmp_path, "u2") as log:
        assert say(log, "next").sequence == 1
    assert messages(tmp_path) == ["kept", "next"]


def test_a_segment_with_nothing_but_a_torn_line_does_not_restart_the_sequence(tmp_path: Path) -> None:
    with open_log(tmp_path) as log:
        say(log)
    with open_log(tmp_path) as log:
        say(log)
    segments(tmp_path)[1].write_bytes(b'{"id": "x", "seq')
    with open_log(tmp_path) as log:
        assert say(log).sequence == 1


def test_lines_longer_than_what_is_read_at_once(tmp_path: Path) -> None:
    long = "x" * (3 << 20)
    with open_log(tmp_path) as log:
        say(log, long)
    with open_log(tmp_path) as log:
        assert say(log, "short").sequence == 1
    assert messages(tmp_path) == [long, "short"]


def test_eight_threads_lose_and_mix_nothing(tmp_path: Path) -> None:
    seen: list[int] = []
    with open_log(tmp_path) as log:
        log.subscribe(lambda event: seen.append(event.sequence))

        def work(name: int) -> None:
            for number in range(50):
                say(log, f"{name}/{number}")

        threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    events = list(read_events(str(tmp_path)))
    assert [event.sequence for event in events] == list(range(400)) == seen
    order: dict[str, list[int]] = {}
    for event in events:
        name, _, number = event.message.partition("/")
        order.setdefault(name, []).append(int(number))
    assert all(numbers == list(range(50)) for numbers in order.values())
    assert len(order) == 8


def test_two_writers_at_once_never_share_a_segment(tmp_path: Path) -> None:
    with open_log(tmp_path, "u1") as one, open_log(tmp_path, "u2") as other:
        for _ in range(3):
            say(one, "one")
            say(other, "other")
    assert Counter(messages(tmp_path)) == {"one": 3, "other": 3}
    for segment in segments(tmp_path):
        updates = {json.loads(line)["origin"]["update_id"] for line in segment.read_text().splitlines()}
        assert len(updates) == 1


def test_two_storages_have_two_logs(tmp_path: Path) -> None:
    with open_log(tmp_path / "a") as one, open_log("memory://two-logs") as other:
        assert say(one, "one").sequence == 0
        assert say(other, "other").sequence == 0
    assert messages(tmp_path / "a") == ["one"]
    assert messages("memory://two-logs") == ["other"]
    Storage("memory://two-logs").delete("")


def test_a_full_segment_is_followed_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "_SEGMENT_BYTES", 1000)
    with open_log(tmp_path) as log:
        for number in range(10):
            say(log, str(number))
    assert messages(tmp_path) == [str(number) for number in range(10)]
    assert [path.name for path in segments(tmp_path)][:2] == ["000001-0001.jsonl", "000001-0002.jsonl"]
    assert all(path.stat().st_size < 1500 for path in segments(tmp_path))


def test_a_killed_process_loses_nothing_that_it_appended(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "from penstock.events import EventLog, EventType\n"
        "log = EventLog.open(sys.argv[1], pipeline_name='p', update_id='u')\n"
        "log.append(EventType.USER_ACTION, 'said', {})\n"
        "os.kill(os.getpid(), 9)\n"
    )
    process = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert process.returncode == -9
    assert messages(tmp_path) == ["said"]


class _FullDisk(io.RawIOBase):
    """A file whose disk takes ten more bytes."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self.file = file

    def write(self, data: Any, /) -> int:
        return self.file.write(data[:10])

    def close(self) -> None:
        self.file.close()


def test_a_full_disk_is_an_error_of_that_event_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_log(tmp_path)
    say(log, "before")
    log._segment = cast("BinaryIO", _FullDisk(cast("BinaryIO", log._segment)))
    with pytest.raises(ExternalError) as caught:
        say(log, "lost")
    assert caught.value.condition == "EVENT_LOG_WRITE_FAILED"
    assert caught.value.facts["path"] == f"{tmp_path}/events"
    assert "10 of" in caught.value.facts["reason"]
    assert say(log, "after").sequence == 1
    log.close()
    assert messages(tmp_path) == ["before", "after"]


def test_a_storage_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "events").write_text("a file where the folder should be")
    log = EventLog(
        Storage(str(tmp_path)),
        origin=Origin("p", "u"),
        clock=CLOCK,
        next_sequence=0,
        ordinal=1,
    )
    with pytest.raises(ConfigError) as caught:
        say(log)
    assert caught.value.condition == "STORAGE_NOT_WRITABLE"
    assert caught.value.facts["path"].startswith(f"{tmp_path}/events")


def test_a_closed_log_takes_nothing(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.close()
    log.close()
    with pytest.raises(ValueError, match="closed"):
        say(log)


def test_the_level_follows_from_the_content(tmp_path: Path) -> None:
    error = DataError(
        "EXPECTATION_FAILED",
        location=SourceLocation("a.py", 3),
        dataset="shop.t",
        name="shop.t",
        expectations="'x'",
        row="{}",
        origin="",
    )
    with open_log(tmp_path) as log:
        failed = log.append(
            EventType.UPDATE_PROGRESS, *builders.update_progress(UpdateState.FAILED, pipeline="p"), error=error
        )
        warned = say(log, error={"condition": "X"}, level=Level.WARN)
        numbers = log.append(EventType.FLOW_PROGRESS, "", {"flow_progress": {"metrics": {"batch_id": 1}}})
        assert say(log).level is Level.INFO
    assert (failed.level, warned.level, numbers.level) == (Level.ERROR, Level.WARN, Level.METRICS)
    assert failed.error == {
        **error.to_json(),
        "facts": {"name": "shop.t", "expectations": "'x'", "row": "{}", "origin": ""},
    }
    assert failed.error["line"] == 3
    assert next(read_events(str(tmp_path))) == failed


def test_a_broken_subscriber_is_removed_and_the_rest_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: Event) -> None:
        raise ZeroDivisionError

    seen: list[str] = []
    with open_log(tmp_path) as log, caplog.at_level(logging.ERROR):
        log.subscribe(broken)
        stop = log.subscribe(lambda event: seen.append(event.message))
        say(log, "a")
        say(log, "b")
        stop()
        stop()
        say(log, "c")
    assert seen == ["a", "b"]
    assert len(caplog.records) == 1
    assert messages(tmp_path) == ["a", "b", "c"]


def test_update_ids_differ() -> None:
    assert len({new_update_id() for _ in range(100)}) == 100


def segments(storage: Path) -> list[Path]:
    return sorted((storage / "events").iterdir())


def test_the_log_and_the_status_need_no_spark() -> None:
    program = "import sys, penstock.events, penstock.observe.current; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    slow = {"pyspark", "delta", "py4j", "pyarrow", "pandas", "penstock.graph.elements"}
    assert not slow & set(shown.stdout.split()), "each command waits for these imports"
