"""Who reads a long log from its totals on gets the same answers as who reads all of it."""

from __future__ import annotations

import threading
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.processes import wait_until
from tests.recorded.years import BEGINNING, Recorder
from tests.unit.observe.story import Story
from tests.unit.observe.test_retention import day
from tests.unit.observe.totals.answers import answers, from_totals, names, stored

from penstock.errors import ConfigError, DefinitionError, ExternalError
from penstock.events import (
    Event,
    EventLog,
    EventReader,
    EventType,
    FlowStatus,
    Level,
    UpdateState,
    builders,
    read_events,
)
from penstock.events.codec import encode
from penstock.events.log.segments import list_segments
from penstock.events.log.totals import read_totals
from penstock.observe.current import read_status
from penstock.observe.log import totals, totals_follower
from penstock.observe.log.retention import compact
from penstock.observe.log.totals import bring_up_to_date, read_from_totals
from penstock.observe.log.totals_follower import TotalsFollower
from penstock.storage import Storage

_LATER = BEGINNING.replace(year=2027)


def cut(lines: list[bytes], storage: Path, random: Random) -> str:
    """A log that ends anywhere, in segments that end anywhere, the last one in half a line."""
    events = storage / "events"
    events.mkdir(parents=True)
    end, begun, part = random.randrange(1, len(lines)), 0, 0
    while begun < end:
        part, until = part + 1, min(begun + random.randrange(1, 150), end)
        (events / f"000001-{part:04}.jsonl").write_bytes(b"".join(lines[begun:until]))
        begun = until
    with (events / f"000001-{part:04}.jsonl").open("ab") as newest:
        newest.write(lines[end][: random.randrange(20)])
    return str(storage)


@pytest.mark.parametrize("seed", range(4))
def test_everybody_gets_the_same_answers(tmp_path: Path, seed: int) -> None:
    random, written = Random(seed), str(tmp_path / "written")
    Recorder(written, seed, batches=14).record(9)
    lines = [
        line for _, each in list_segments(Storage(written)) for line in Path(each.uri).read_bytes().splitlines(True)
    ]
    for number in range(4):
        storage = cut(lines, tmp_path / str(number), random)
        expected = answers(read_events(storage))
        assert answers(from_totals(storage)) == expected
        again = read_from_totals(storage)
        assert answers(again.poll()) == expected
        assert again.bytes_read == again.bytes_total or again.poll() == []
        assert read_status(storage).to_json() == expected["gone"]


@pytest.mark.parametrize("seed", range(4))
def test_a_log_that_grows_between_the_looks(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    storage, recorder = str(tmp_path), Recorder(str(tmp_path), seed, batches=10)
    for number in range(8):
        recorder.record(1)
        expected = answers(read_events(storage))
        assert answers(from_totals(storage)) == expected
        if number == 5:
            assert compact(storage, day(4)).dropped > 0
            held = stored(storage).read_bytes()
            assert answers(from_totals(storage)) == expected
            assert stored(storage).read_bytes() == held, "what was compacted is part of the totals already"
    whole = sum(segment.size for _, segment in list_segments(Storage(storage)))
    monkeypatch.setattr(totals, "WORTH_IT", whole)
    assert len(from_totals(storage)) < len(list(read_events(storage)))


def _story() -> list[Event]:
    """A running update, and the end of the one before it: all that can happen while a flow works."""
    story = Story()
    names = ("s.raw", "s.clean", "s.gone")
    unreachable = ExternalError("KAFKA_UNREACHABLE", servers="broker:9092")
    for update, number in (("one", 0), ("failed", 1), ("two", 1)):
        story.update(update, full_refresh=["s.raw"] if number else ())
        if update == "failed":
            story.state(UpdateState.FAILED, error=unreachable)
            continue
        for name in names[: 3 - number]:
            story.dataset(name, expectations=[("ok", "a > 0", "drop")])
            story.flow(name)
        story.say(EventType.PLANNING_INFORMATION, builders.planning_information([("run", None, None, "all")]))
        for name in names[3 - number :]:
            error = DefinitionError("DATASET_NOT_DECLARED", dataset=name, name=name, word=name)
            story.say(
                EventType.PLANNING_INFORMATION, builders.planning_warning(error.message), dataset=name, error=error
            )
        story.state(UpdateState.RUNNING)
        for name in names[: 3 - number]:
            story.status(name, FlowStatus.QUEUED)
            story.status(name, FlowStatus.STARTING)
        story.status("s.clean", FlowStatus.STARTING, flow="first")
        story.status(
            "s.clean",
            FlowStatus.FAILED,
            flow="second",
            error=ExternalError("UPDATE_FAILED", update_id="x", reason="second"),
        )
        story.status("s.clean", FlowStatus.FAILED, flow="first", error=unreachable)
        for batch in range(13):
            story.batch("s.raw", batch, 10, failed=batch % 2, input_rows_per_second=5.0, backlog_records=batch)
            if batch % 4 == 3:
                story.retry("s.clean", 5)
            elif batch % 4 == 1:
                story.status("s.clean", FlowStatus.RUNNING)
            story.batch("s.clean", batch // 2, 7)
        story.status("s.raw", FlowStatus.IDLE)
        story.status("s.clean", FlowStatus.FAILED, error=unreachable)
        story.status("s.clean", FlowStatus.RUNNING)
        story.status("s.clean", FlowStatus.STOPPED)
        if number == 1:
            story.say(EventType.USER_ACTION, builders.user_action("DROP"), dataset="s.gone")
            story.status("s.raw", FlowStatus.RUNNING)
            of_tomorrow = "s.raw sleeps", {"flow_progress": {"status": "HIBERNATING"}}
            story.say(EventType.FLOW_PROGRESS, of_tomorrow, dataset="s.raw", flow="raw")
    story.update_id = "without a beginning"
    story.state(UpdateState.RUNNING)
    story.state(UpdateState.STOPPING)
    return story.events


def test_an_update_that_runs_is_summed_up_wherever_it_is(tmp_path: Path) -> None:
    events = _story()
    lines, at_the_end = [encode(event).encode() for event in events], answers(events)
    segment = tmp_path / "events" / "000001-0001.jsonl"
    segment.parent.mkdir()
    for end in range(1, len(lines), 3):
        stored(str(tmp_path)).unlink(missing_ok=True)
        segment.write_bytes(b"".join(lines[:end]))
        assert answers(from_totals(str(tmp_path))) == answers(events[:end]), end
        with segment.open("ab") as growing:
            growing.writelines(lines[end:])
        storage = Storage(str(tmp_path))
        known = read_totals(storage, list_segments(storage))
        assert answers(EventReader(str(tmp_path), totals=known).poll()) == at_the_end, end


def test_a_run_keeps_the_totals_of_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals_follower, "EVENTS", 5)
    storage = str(tmp_path)
    with EventLog.open(storage, pipeline_name="p", update_id="u") as log, TotalsFollower(storage, log):
        log.append(EventType.CREATE_UPDATE, *builders.create_update(pipeline="p", cause="USER_ACTION", version="1"))
        for number in range(4):
            log.append(EventType.FLOW_PROGRESS, *builders.flow_status(f"f{number}", FlowStatus.RUNNING), dataset="s.f")
        wait_until(stored(storage).exists, timeout=20, what="totals of the log", interval=0.01)
        expected = answers(read_events(storage))
    known = read_totals(Storage(storage), list_segments(Storage(storage)))
    assert known is not None
    assert answers(EventReader(storage, totals=known).poll()) == expected


def test_totals_that_fail_do_not_stop_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr(totals_follower, "bring_up_to_date", fails)
    with EventLog.open(str(tmp_path), pipeline_name="p", update_id="u") as log, TotalsFollower(str(tmp_path), log):
        pass
    (ended,) = [event for event in read_events(str(tmp_path)) if event.event_type is EventType.HOOK_PROGRESS]
    assert ended.error is not None
    assert (ended.level, ended.error["condition"], ended.error["facts"]["thread"]) == (
        Level.WARN,
        "BACKGROUND_THREAD_ENDED",
        "totals",
    )


def test_only_what_came_since_is_read(recorded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bring_up_to_date(recorded)
    monkeypatch.setattr(totals, "WORTH_IT", 100_000)
    read: list[str] = []
    real = Storage.read_bytes

    def watched(self: Storage, location: str, **part: Any) -> bytes:
        content = real(self, location, **part)
        read.append(f"{location.rpartition('/')[2]} {len(content)}")
        return content

    Recorder(recorded, 3, day=20).define()
    (_, end), (_, newest) = list_segments(Storage(recorded))[-2:]
    monkeypatch.setattr(Storage, "read_bytes", watched)
    from_totals(recorded)
    end_bytes = min(end.size, 4096)
    whole = stored(recorded).stat().st_size
    assert read == [f"_totals {whole}", f"{end.name} {end_bytes}", f"{newest.name} {newest.size}"]


def test_a_stopped_process_keeps_the_totals_of_one_bounded_step(recorded: str) -> None:
    stop = threading.Event()
    stop.set()
    assert sum(segment.size for _, segment in list_segments(Storage(recorded))) > 200_000
    known = bring_up_to_date(recorded, stop=stop)
    assert known is not None
    assert 50_000 <= sum(known.covers.values()) < 80_000, "AT_ONCE, and at most one segment more"
    assert answers(from_totals(recorded)) == answers(read_events(recorded))


def test_a_short_log_gets_none(recorded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(totals, "WORTH_IT", 4 << 20)
    before = names(recorded)
    read_status(recorded)
    assert bring_up_to_date(recorded) is None
    assert bring_up_to_date(f"{recorded}/none") is None
    assert names(recorded) == before


def test_a_log_that_is_compacted_meanwhile(recorded: str) -> None:
    """All that the totals cover is gone before the reader looks: it reads what is left."""
    reader = read_from_totals(recorded)
    Recorder(recorded, 3, day=20).define()
    expected = answers(read_events(recorded))
    compact(recorded, day(999))
    assert answers(reader.poll()) == expected
    assert answers(from_totals(recorded)) == expected


def test_a_reader_goes_on_behind_the_totals(recorded: str) -> None:
    reader = read_from_totals(recorded)
    seen = reader.poll(limit=1)
    assert seen[-1].event_type is EventType.COMPACTION, "a limit is about what comes behind them"
    Recorder(recorded, 3, day=20).record(2)
    compact(recorded, day(9))
    seen.extend(reader.poll())
    assert reader.generation == 0
    assert answers(seen) == answers(read_events(recorded))


def test_a_poll_that_fails_has_taken_nothing(recorded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = read_from_totals(recorded)
    Recorder(recorded, 3, day=20).define()
    expected = answers(read_events(recorded))

    def fails(*_: object, **__: object) -> bytes:
        raise ConfigError("STORAGE_NOT_READABLE", path="events", reason="no")

    with monkeypatch.context() as patched:
        patched.setattr(Storage, "read_bytes", fails)
        with pytest.raises(ConfigError):
            reader.poll()
    assert answers(reader.poll()) == expected


def test_a_line_without_an_end(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "000001-0001.jsonl").write_bytes(b"x" * 1000)
    assert from_totals(str(tmp_path)) == []
    assert names(str(tmp_path)) == ["000001-0001.jsonl"]


def test_a_log_that_is_not_on_a_disk() -> None:
    storage = "memory://totals"
    Recorder(storage, 5, batches=4).record(6)
    expected = answers(read_events(storage))
    assert answers(from_totals(storage)) == expected
    found = list_segments(Storage(storage))
    assert read_totals(Storage(storage), found) is not None
    assert answers(EventReader(storage, totals=read_totals(Storage(storage), found)).poll()) == expected
    Storage(storage).delete("")
