"""Compares the simulation of `penstock cost` with real runs: `python -m benchmarks.cost [--seconds N] [--rows N]`.

A day of arrivals passes in `--seconds`: a file twice a second, four times as large in the afternoon as at night. A
pipeline of two tables reads them on a schedule. From the log of that run another schedule is simulated, and then really
runs over the same files at the same times. This is done with two triggers of runs that are always on (warm when the day
begins), and with two intervals of AvailableNow, where each run is a process of its own. Compared are the time for which
batches were busy, the time for which the cluster was on, and the freshness of the second table, of which the truth is
known: when each file came, and when the batch ended that had it.

`--batches N` adds how long `penstock cost` takes on a log of N batches in 30 days (some minutes, to write it);
`--seconds 0` leaves out the rest.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from benchmarks.cost.day import EVERY, LAST_TABLE, RealRun, measured_day, run_day, write_files
from benchmarks.cost.long_log import write_long_log
from penstock.care.cost.estimate import ScheduleCost, estimate
from penstock.care.cost.measures import DAY, Measured
from penstock.care.cost.prices import Prices
from penstock.care.cost.schedules import Schedule, ScheduleKind
from penstock.care.cost.simulation import percentiles
from penstock.observe.log.totals import bring_up_to_date

_GOAL: Final = 0.1
_LONG_GOAL: Final = 3.0


def main() -> int:
    given = _arguments()
    runs: list[dict[str, Any]] = []

    def note(what: str, value: float, unit: str, goal: float | None = None) -> None:
        runs.append({"what": what, "value": round(value, 3), "goal": goal, "unit": unit})
        print(f"{what}: {value:.3f} {unit}", flush=True)

    with tempfile.TemporaryDirectory(prefix="cost-", dir=given.work, ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        if given.seconds:
            _compare_days(note, place, given)
        if given.batches:
            _time_long_log(note, place / "long", given.batches)
    names = ("seconds", "rows", "recorded_trigger", "trigger", "recorded_every", "every", "warm_up", "batches")
    arguments = {name: getattr(given, name) for name in names}
    publish("cost", arguments, runs, given.results)
    return 0


def _compare_days(note: Any, place: Path, given: Any) -> None:
    always_on = [Schedule(ScheduleKind.ALWAYS_ON, each) for each in (given.recorded_trigger, given.trigger)]
    at_intervals = [Schedule(ScheduleKind.AVAILABLE_NOW, each) for each in (given.recorded_every, given.every)]
    first_files = 2 * EVERY  # one for the run that creates the tables, one for the start of what is always on
    before = {each: max(given.warm_up * each.interval, first_files) for each in always_on}
    files = write_files(place / "files", given.seconds, given.rows, max(before.values()))
    for recorded, other in (always_on, at_intervals):
        recorded_place = place / f"{recorded.kind.value} recorded"
        measured = measured_day(run_day(recorded_place, files, recorded, before=before.get(recorded, first_files)))
        real = run_day(place / other.kind.value, files, other, before=before.get(other, first_files))
        _compare(note, other, _simulated(measured, other), real)


def _simulated(measured: Measured, schedule: Schedule) -> ScheduleCost:
    return estimate(measured, Prices(), (schedule,), name="cost").schedules[0]


def _compare(note: Any, schedule: Schedule, simulated: ScheduleCost, real: RealRun) -> None:
    """Everything is for the length of the day in fast motion."""
    [table] = [each for each in simulated.tables if each.dataset == LAST_TABLE]
    p50, p95 = percentiles(real.ages, (0.5, 0.95))
    pairs = {
        "busy": (sum(each.busy for each in simulated.tables) * real.seconds / DAY, sum(real.busy.values())),
        "freshness p50": (table.p50, p50),
        "freshness p95": (table.p95, p95),
    }
    if not schedule.always_on:
        pairs["cluster on"] = (simulated.hours_on / 24 * real.seconds, real.on)
    for what, (found, true) in pairs.items():
        assert found is not None
        assert true is not None
        note(f"{schedule.name}: {what}, simulated", found, "s")
        note(f"{schedule.name}: {what}, real", true, "s")
        note(f"{schedule.name}: {what}, difference", abs(found / true - 1), "share", _GOAL)
    if not schedule.always_on:
        note(f"{schedule.name}: not in the log, start and end of the processes", real.processes - real.on, "s")


def _time_long_log(note: Any, place: Path, batches: int) -> None:
    """Times the totals, which a run makes while it writes the log, and two calls that find them.

    Of a log without totals, as after a change of version, the first call makes them.
    """
    storage = place / ".penstock"
    place.mkdir()
    (place / "penstock.yml").write_text("name: shop\n")
    write_long_log(storage, batches=batches, days=30)
    before = time.process_time()
    bring_up_to_date(str(storage))
    note(f"totals of {batches:,} batches, made by the run, processor time", time.process_time() - before, "s")
    command = [sys.executable, "-m", "penstock.cli", "cost", str(place), "--hourly-price", "15", "--json"]
    for call in ("first", "second"):
        start, before = time.perf_counter(), _of_children()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        took, used = time.perf_counter() - start, _of_children() - before
        assert json.loads(done.stdout)["schedules"]
        note(f"penstock cost on {batches:,} batches, {call} call", took, "s", _LONG_GOAL)
        note(f"penstock cost on {batches:,} batches, {call} call, processor time", used, "s", _LONG_GOAL)


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _arguments() -> Any:
    parser = parser_of("cost", __doc__)
    parser.add_argument("--seconds", type=float, default=240, help="how long the day takes")
    parser.add_argument("--rows", type=int, default=5000, help="rows of a file, on average")
    parser.add_argument("--recorded-trigger", type=float, default=3, help="of the recorded run that is always on")
    parser.add_argument("--trigger", type=float, default=6, help="of the one that is simulated, in seconds")
    parser.add_argument("--recorded-every", type=float, default=30, help="of the recorded runs of AvailableNow")
    parser.add_argument("--every", type=float, default=60, help="of those that are simulated, in seconds")
    parser.add_argument("--warm-up", type=int, default=40, help="intervals before the day, of runs that are always on")
    parser.add_argument("--batches", type=int, default=0, help="also time a log of so many batches")
    return parse(parser)


if __name__ == "__main__":
    sys.exit(main())
