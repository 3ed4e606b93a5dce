"""A compacted log is shorter, and whoever reads it gets the same answers."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.recorded.years import BEGINNING, TABLES, Recorder

from penstock.alerts.finding import Finding
from penstock.alerts.watch import watch_over
from penstock.config import AlertSettings, TableAlerts
from penstock.dashboard.log.projections import Projections
from penstock.errors import ConfigError
from penstock.events import Event, EventReader, EventType, read_events
from penstock.events.flows.records import FlowRecords
from penstock.events.log.audit import recorded_actions
from penstock.events.log.segments import is_compacted, list_segments, replaced_segments
from penstock.observe.log import retention
from penstock.observe.log.retention import Compacted, compact, is_due
from penstock.observe.status.updates import UpdateHistory
from penstock.storage import Storage

SETTINGS = AlertSettings(
    {name.partition(".")[2]: TableAlerts(freshness=600, no_input=600, expectations=0.98) for name in TABLES}
)


def day(number: float) -> datetime:
    return BEGINNING + timedelta(days=number)


def of_pages(pages: Projections) -> dict[str, Any]:
    """States and sums, as the dashboard shows them."""
    assert pages.damaged == 0
    quality = [each for name in TABLES for each in pages.quality.of(name)]
    return {
        "status": pages.status.status(writer_alive=False).to_json(),
        "lineage": pages.lineage.lineage(),
        "definitions": [pages.definitions.of(name) for name in TABLES],
        "quality": [(q.name, q.passed, q.failed, q.first_failure_at, q.last_failure_at) for q in quality],
        "lateness": [pages.watermark.advice(name, target=10) for name in TABLES],
        "not measured": [pages.watermark.not_measured(name) for name in TABLES],
        "throughput": pages.throughput.all(),
    }


def of_events(events: Iterable[Event]) -> dict[str, Any]:
    """What the log says, as everybody who reads it from its beginning sees it."""
    pages, records, told = Projections(), FlowRecords(), list(events)
    for event in told:
        pages.apply(event)
        records.apply(event)
    watch = watch_over(told, SETTINGS)
    watch.run_is_gone()
    return {
        **of_pages(pages),
        "wrong": sorted(map(_wrong, filter(lambda found: found.error, watch.findings(day(99))))),
        "flows": [
            (
                r.dataset,
                r.flow,
                r.declared,
                r.query,
                r.stateful,
                r.ran,
                r.was_reset,
                r.checkpointed,
                r.settings,
                r.read,
            )
            for r in records
        ],
        "newest batches": [list(r.written.items())[-3:] for r in records if r.query],
    }


def _wrong(found: Finding) -> tuple[str, ...]:
    """Since when a share of rows is low is known of the batches only that the rule looks at."""
    error = found.error or {}
    since = str(error.get("message")) if found.rule == "expectations" else str(found.since)
    return found.rule, str(found.dataset), str(found.subject), since


def answers(storage: str) -> dict[str, Any]:
    actions = [(each.hash, each.tampering) for each in recorded_actions(storage)]
    assert {tampering for _, tampering in actions} == {None}
    return {**of_events(read_events(storage)), "actions": actions}


def names(storage: str) -> list[str]:
    return sorted(path.name for path in (Path(storage) / "events").iterdir())


@pytest.mark.parametrize("seed", range(6))
def test_everybody_gets_the_same_answers(tmp_path: Path, seed: int) -> None:
    storage = str(tmp_path)
    recorder = Recorder(storage, seed, batches=8)
    recorder.record(12)
    before = answers(storage)
    done = compact(storage, day(Random(seed).uniform(4, 14)))
    assert done.dropped > 0
    assert done.bytes_after < done.bytes_before
    assert answers(storage) == before
    assert len(list(read_events(storage))) == done.kept + len(rest(storage)) + 1
    recorder.record(6)
    before = answers(storage)
    assert compact(storage, day(16)).dropped > 0
    assert answers(storage) == before


def rest(storage: str) -> list[Event]:
    """The events behind the totals."""
    events = list(read_events(storage))
    (last,) = [number for number, event in enumerate(events) if event.event_type is EventType.COMPACTION]
    return events[last + 1 :]


@pytest.fixture(scope="module")
def twelve_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    storage = tmp_path_factory.mktemp("recorded")
    Recorder(str(storage), 7, batches=8).record(12)
    return storage


@pytest.fixture
def recorded(tmp_path: Path, twelve_days: Path) -> str:
    shutil.copytree(twelve_days, tmp_path, dirs_exist_ok=True)
    return str(tmp_path)


def test_the_newest_update_that_planned_its_work_stays_whole(recorded: str) -> None:
    Recorder(recorded, 8, day=20).define()
    newest = list(read_events(recorded))[-1].origin.update_id
    whole = [event for event in read_events(recorded) if event.origin.update_id == newest]
    compact(recorded, day(999))
    assert [event for event in read_events(recorded) if event.origin.update_id == newest] == whole
    assert rest(recorded) == whole
    history = UpdateHistory()
    for event in read_events(recorded):
        history.apply(event)
    assert [update.id for update in history.updates()] == [newest], "of the one before it, remains are left"
    assert compact(recorded, day(999)).dropped == 0, "there is nothing more to drop"


def test_younger_events_stay(recorded: str) -> None:
    young = [event for event in read_events(recorded) if event.timestamp >= day(9)]
    compact(recorded, day(9))
    assert rest(recorded)[-len(young) :] == young
    assert compact(recorded, day(9)).dropped == 0
    assert compact(recorded, day(0)).dropped == 0


def test_the_log_stays_the_same_log(recorded: str) -> None:
    first = next(read_events(recorded))
    compact(recorded, day(9))
    assert next(read_events(recorded)) == first, "its id says which log a published table has"
    sequences = [event.sequence for event in read_events(recorded)]
    assert sequences == sorted(sequences)


def test_the_event_says_how_much_is_gone_and_the_next_one_adds_to_it(recorded: str) -> None:
    count = len(list(read_events(recorded)))
    compact(recorded, day(6))
    compact(recorded, day(10))
    (told,) = read_events(recorded, types=[EventType.COMPACTION])
    dropped = told.details["compaction"]["dropped"]
    assert dropped == count - len(list(read_events(recorded))) + 1
    assert told.message == f"{dropped:,} old events dropped; their totals stay"


def test_a_line_that_nobody_can_read_stays(recorded: str) -> None:
    (_, first), *_ = list_segments(Storage(recorded))
    with Path(first.uri).open("ab") as segment:
        segment.write(b'{"event_type":"of tomorrow"}\n{"torn')
    compact(recorded, day(9))
    (_, compacted), *_ = list_segments(Storage(recorded))
    assert b'{"event_type":"of tomorrow"}\n' in Path(compacted.uri).read_bytes()


@pytest.mark.parametrize("read", [0, 1, 40, 150, 300, 100_000])
def test_a_reader_in_the_middle_goes_on(recorded: str, read: int) -> None:
    before, whole = of_events(read_events(recorded)), [event.id for event in read_events(recorded)]
    reader, printer = EventReader(recorded), EventReader(recorded, sums=False)
    seen, printed = reader.poll(limit=read), printer.poll(limit=read)
    compact(recorded, day(9))
    generation = 0
    while some := reader.poll(limit=70):
        if reader.generation > generation:
            seen, generation = [], reader.generation
        seen.extend(some)
    assert of_events(seen) == before
    while some := printer.poll(limit=70):
        printed.extend(some)
    assert printer.generation == 0
    left = {event.id for event in read_events(recorded)}
    expected = [*whole[:read], *(each for each in whole[read:] if each in left)]
    assert [event.id for event in printed if event.event_type is not EventType.COMPACTION] == expected
    assert reader.bytes_read == reader.bytes_total


@pytest.mark.parametrize("read", [1, 40, 150, 300])
def test_one_look_at_the_log_while_it_is_compacted(recorded: str, read: int) -> None:
    before = of_events(read_events(recorded))
    events = read_events(recorded)
    seen = [next(events) for _ in range(read)]
    compact(recorded, day(9))
    seen.extend(events)
    assert of_events(seen) == before
    actions = recorded_actions(recorded)
    next(actions)
    compact(recorded, day(12))
    assert [each.tampering for each in actions if each.tampering is not None] == []


def test_a_reader_that_was_away_for_long(tmp_path: Path) -> None:
    storage, recorder = str(tmp_path), Recorder(str(tmp_path), 7, batches=8)
    recorder.record(10)
    reader = EventReader(storage)
    reader.poll()
    recorder.record(2)
    recorder.define()
    before = of_events(read_events(storage))
    compact(storage, day(999))
    seen = reader.poll()
    assert (reader.generation, of_events(seen), of_events(read_events(storage))) == (1, before, before)


class Stopped(BaseException):
    """As if the process died."""


@pytest.mark.parametrize("step", ["write_bytes_atomic", "sync", "delete"])
@pytest.mark.parametrize("times", [0, 2])
def test_a_process_may_die_between_the_steps(
    recorded: str, monkeypatch: pytest.MonkeyPatch, step: str, times: int
) -> None:
    before, left = answers(recorded), times
    real = getattr(Storage, step)

    def dies(self: Storage, *arguments: Any) -> None:
        nonlocal left
        if left == 0:
            raise Stopped
        left -= 1
        real(self, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(Storage, step, dies)
        with suppress(Stopped):
            compact(recorded, day(9))
    assert answers(recorded) == before
    Recorder(recorded, 1, day=20).define()
    before = answers(recorded)
    compact(recorded, day(9))
    assert answers(recorded) == before
    assert replaced_segments(Storage(recorded)) == []
    assert len([name for name in names(recorded) if is_compacted(name)]) == 1


def test_a_killed_process_leaves_the_old_log_or_the_new_one(recorded: str) -> None:
    before = answers(recorded)
    code = (
        "import os, signal, sys\n"
        "from datetime import datetime\n"
        "from penstock.observe.log.retention import compact\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "compact(sys.argv[1], datetime.fromisoformat(sys.argv[2]))\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, recorded, day(9).isoformat()], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert any(name.endswith(".tmp") for name in names(recorded))
    assert answers(recorded) == before
    compact(recorded, day(9))
    assert answers(recorded) == before
    assert not any(name.endswith(".tmp") for name in names(recorded))


def test_a_full_disk_changes_nothing(recorded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, files = answers(recorded), names(recorded)

    def fails(*_: object) -> None:
        raise ConfigError("STORAGE_NOT_WRITABLE", path="events", reason="no")

    monkeypatch.setattr(Storage, "write_bytes_atomic", fails)
    with pytest.raises(ConfigError):
        compact(recorded, day(9))
    assert (answers(recorded), names(recorded)) == (before, files)


def test_a_run_compacts_when_it_is_worth_it_and_only_so_much(recorded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_due(recorded, day(9)), "so little is not worth it"
    monkeypatch.setattr(retention, "_WORTH_IT", 50_000)
    assert is_due(recorded, day(9))
    assert not is_due(recorded, day(1))
    sizes = [segment.size for _, segment in list_segments(Storage(recorded))]
    compact(recorded, day(9), most_bytes=sizes[0] + 1)
    (_, first), (_, second), *_ = list_segments(Storage(recorded))
    assert (is_compacted(first.name), second.size) == (True, sizes[1])
    compact(recorded, day(9), most_bytes=1)
    (_, first), (_, third), *_ = list_segments(Storage(recorded))
    assert third.size == sizes[2], "one more each time, whatever was compacted before"


def test_a_log_that_is_not_on_a_disk() -> None:
    storage = "memory://retention"
    Recorder(storage, 5, batches=4).record(6)
    before = answers(storage)
    assert compact(storage, day(5)).dropped > 0
    assert answers(storage) == before
    assert replaced_segments(Storage(storage)) == []
    Storage(storage).delete("")


def test_a_log_of_nothing(tmp_path: Path) -> None:
    assert compact(str(tmp_path / "none"), day(9)) == Compacted(0, 0, 0, 0)
    assert not (tmp_path / "none").exists()


def test_a_damaged_compaction_is_passed_over(recorded: str) -> None:
    compact(recorded, day(9))
    (_, segment), *_ = list_segments(Storage(recorded))
    path = Path(segment.uri)
    lines = path.read_bytes().splitlines()
    for damage in (b'\\"flows\\":7}', b'\\"flows\\":[7,{\\"status\\":{\\"rows\\":\\"x\\",\\"accounts\\":[]}}]}'):
        start = lines[-1].index(b'\\"flows\\":')
        end = lines[-1].index(b'}","event_type"')
        path.write_bytes(b"\n".join([*lines[:-1], lines[-1][:start] + damage + lines[-1][end:]]) + b"\n")
        assert len(list(read_events(recorded, types=[EventType.COMPACTION]))) == 1
        assert of_events(read_events(recorded))
