"""Times what being safe costs: `python -m benchmarks.reliability [--repeat N] [--tables N] [--versions N]`.

- a second run is refused while one works on the storage: from its start to its exit
- a run and its JVM are killed: from the start of the next one to its first commit; 95 of 100 must be within the goal
- `plan` of many flows that have run, beyond what `validate` takes
- what guards a flow (fingerprint, checks of its checkpoint, accounts of each batch) beside the time of its batches
- batches of one flow, while its table and its checkpoint go from the first version to many
"""

from __future__ import annotations

import argparse
import math
import signal
import statistics
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.arguments import parse, parser_of
from benchmarks.commands import penstock, with_spark
from benchmarks.compare import publish
from benchmarks.reliability.guards import share_of_guards
from benchmarks.reliability.pipelines import batch_seconds, continuous, seconds_until, versions, write_one_flow
from benchmarks.startup.large_pipeline import write_pipeline

_REFUSED = 3

Run = dict[str, Any]


def main() -> int:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="reliability-", dir=given.work) as work:
        folder = Path(work)
        runs = [
            *_ages(folder / "ages", given.versions, given.batches),
            _refusal(folder / "refusal", given.repeat, given.warm_up),
            _kill(folder / "kill", given.repeat, given.warm_up),
            _plan(folder / "plan", given.tables, given.repeat),
            _guards(folder / "guards", given.repeat, given.batches),
        ]
    arguments = {name: getattr(given, name) for name in ("repeat", "tables", "versions", "batches", "warm_up")}
    publish("reliability", arguments, runs, given.results)
    return 0


def _refusal(folder: Path, repeat: int, warm_up: int) -> Run:
    project = write_one_flow(folder)
    with continuous(project, ends=signal.SIGINT) as run:
        seconds_until(partial(_has_more, project, warm_up), run)
        seconds = [penstock("run", str(project), expected=(_REFUSED,)) for _ in range(repeat)]
    return _run("a second run is refused", seconds, 1.0)


def _kill(folder: Path, repeat: int, warm_up: int) -> Run:
    project = write_one_flow(folder)
    seconds = []
    for turn in range(repeat + 1):
        before = versions(project)
        # The last one is only started: nothing is measured after it.
        with continuous(project, ends=signal.SIGKILL if turn < repeat else signal.SIGINT) as run:
            seconds.append(seconds_until(partial(_has_more, project, before), run))
            seconds_until(partial(_has_more, project, before + warm_up), run)
    return _run("killed: from the next start to its first commit", seconds[1:], 20.0)


def _plan(folder: Path, tables: int, repeat: int) -> Run:
    write_pipeline(folder, tables, sql=True)
    with_spark("run", folder)
    beyond = []
    for _ in range(repeat):
        validate = with_spark("validate", folder)
        beyond.append(with_spark("plan", folder) - validate)
    return _run(f"plan of {tables} tables that have run, beyond validate", beyond, 5.0)


def _guards(folder: Path, repeat: int, batches: int) -> Run:
    shares = share_of_guards(write_one_flow(folder), batches, repeat)
    return _run(f"guards of {batches} batches, share of their time", shares, 0.02)


def _ages(folder: Path, last: int, batches: int) -> list[Run]:
    project = write_one_flow(folder)
    with continuous(project, ends=signal.SIGINT) as run:
        seconds_until(partial(_has_more, project, last), run)
    took = batch_seconds(project)
    ages = [batches, *(age for age in (1_000, 3_000, 10_000, 30_000) if age < last), last]
    runs = []
    for age in ages:
        seconds = [took[batch] for batch in range(age - batches + 1, age + 1) if batch in took]
        runs.append(_run(f"batches up to version {age:,}", seconds, None))
    return runs


def _has_more(project: Path, than: int) -> bool:
    return versions(project) > than


def _run(what: str, seconds: list[float], goal: float | None) -> Run:
    ordered = sorted(seconds)
    late = ordered[math.ceil(0.95 * len(ordered)) - 1]
    print(f"{what}: {statistics.median(ordered):.3f}, 95 of 100 within {late:.3f}", flush=True)
    return {"what": what, "goal": goal, "seconds": [round(each, 4) for each in seconds], "p95": round(late, 4)}


def _arguments() -> argparse.Namespace:
    parser = parser_of("reliability", __doc__)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--versions", type=int, default=10_000)
    parser.add_argument("--batches", type=int, default=100, help="that are one point of the table of ages")
    parser.add_argument("--warm-up", type=int, default=20, help="batches of a run before it is disturbed")
    return parse(parser)


if __name__ == "__main__":
    raise SystemExit(main())
