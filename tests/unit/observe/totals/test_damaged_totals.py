"""Totals that are damaged, of another log, half written or not to be written: readers get the same answers."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.recorded.years import BEGINNING, Recorder
from tests.unit.observe.test_retention import day
from tests.unit.observe.totals.answers import answers, from_totals, names, stored

from penstock.errors import ConfigError
from penstock.events import (
    read_events,
)
from penstock.events.log import totals as stored_totals
from penstock.events.log.segments import list_segments
from penstock.events.log.totals import read_totals, write_totals
from penstock.observe.log.retention import compact
from penstock.observe.log.totals import bring_up_to_date, read_from_totals
from penstock.storage import Storage

_LATER = BEGINNING.replace(year=2027)


def _truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _without_a_line(content: bytes) -> bytes:
    return b"".join(content.splitlines(keepends=True)[:-1])


def _other_number(content: bytes) -> bytes:
    return content.replace(b'\\"rows\\":', b'\\"rows\\":1')


def _of_tomorrow(content: bytes) -> bytes:
    header, _, body = content.partition(b"\n")
    return json.dumps({**json.loads(header), "format": stored_totals.FORMAT + 1}).encode() + b"\n" + body


def _of_other_shape(content: bytes) -> bytes:
    return b'{"covers":[7]}\n' + content


@pytest.mark.parametrize(
    "damage",
    [_truncated, _without_a_line, _other_number, _of_tomorrow, _of_other_shape, lambda _: b"", lambda _: b"\xff[[[["],
)
def test_damaged_totals_are_made_anew(recorded: str, damage: Callable[[bytes], bytes]) -> None:
    expected = answers(from_totals(recorded))
    sound = stored(recorded).read_bytes()
    assert damage(sound) != sound
    stored(recorded).write_bytes(damage(sound))
    storage = Storage(recorded)
    assert read_totals(storage, list_segments(storage)) is None
    assert answers(from_totals(recorded)) == expected
    assert stored(recorded).read_bytes() == sound


def test_totals_of_another_log_are_passed_over(recorded: str, tmp_path: Path) -> None:
    """A log that was begun anew has segments of the same names, and maybe of the same sizes."""
    bring_up_to_date(recorded)
    other = str(tmp_path / "other")
    Recorder(other, 8, batches=5).record(10)
    shutil.copy(stored(recorded), stored(other))
    assert answers(from_totals(other)) == answers(read_events(other))
    for segment in (Path(recorded) / "events").glob("*.jsonl"):
        segment.write_bytes(segment.read_bytes().replace(b"update-", b"upcast-"))
    assert answers(from_totals(recorded)) == answers(read_events(recorded))


@pytest.mark.parametrize("number", [0, 3, -1])
@pytest.mark.parametrize("change", ["deleted", "shorter", "longer"])
def test_a_segment_that_is_not_as_it_was(recorded: str, number: int, change: str) -> None:
    bring_up_to_date(recorded)
    segment = Path(list_segments(Storage(recorded))[number][1].uri)
    lines = segment.read_bytes().splitlines(keepends=True)
    match change:
        case "deleted":
            segment.unlink()
        case "shorter":
            segment.write_bytes(b"".join(lines[:-3]))
        case _:
            segment.write_bytes(b"".join([*lines, *lines[-3:]]))
    if number != -1:
        assert read_totals(Storage(recorded), list_segments(Storage(recorded))) is None
    assert answers(from_totals(recorded)) == answers(read_events(recorded))


def test_a_line_that_nobody_can_read_is_told_of(recorded: str) -> None:
    (_, first), *_ = list_segments(Storage(recorded))
    with Path(first.uri).open("ab") as segment:
        segment.write(b'{"event_type":"of tomorrow"}\n{"torn')
    expected = answers(read_events(recorded))
    for _ in range(2):
        reader = read_from_totals(recorded)
        assert answers(reader.poll()) == expected
        assert reader.skipped == 1


def test_who_may_not_write_reads_all_the_same(recorded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, before, steps = answers(read_events(recorded)), names(recorded), list[object]()

    def fails(self: Storage, location: str, content: bytes) -> None:
        steps.append(location)
        raise ConfigError("STORAGE_NOT_WRITABLE", path=location, reason="no")

    monkeypatch.setattr(Storage, "write_bytes_atomic", fails)
    assert answers(from_totals(recorded)) == expected
    assert (len(steps), names(recorded)) == (1, before)


def test_a_killed_process_leaves_the_old_totals(recorded: str) -> None:
    bring_up_to_date(recorded)
    before = stored(recorded).read_bytes()
    Recorder(recorded, 3, day=20).record(2)
    expected = answers(read_events(recorded))
    code = (
        "import os, signal, sys\n"
        "from penstock.observe.log import totals\n"
        "totals.WORTH_IT = 1\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "totals.bring_up_to_date(sys.argv[1])\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, recorded], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert any(name.endswith(".tmp") for name in names(recorded))
    assert stored(recorded).read_bytes() == before
    assert answers(from_totals(recorded)) == expected
    compact(recorded, day(9))
    assert not any(name.endswith(".tmp") for name in names(recorded))


def test_two_who_store_totals(recorded: str) -> None:
    """The last one wins, whatever it covers."""
    storage = Storage(recorded)
    first = bring_up_to_date(recorded)
    assert first is not None
    Recorder(recorded, 3, day=20).record(2)
    bring_up_to_date(recorded)
    write_totals(storage, first)
    assert answers(from_totals(recorded)) == answers(read_events(recorded))
