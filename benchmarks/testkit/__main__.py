"""Times tests of the quickstart's pipeline: `python -m benchmarks.testkit [--steps N] [--against CHECKOUT]`.

Each test opens the pipeline (three streaming tables in a row, one with expectations and one with windows, and a
materialized view), takes steps with 20 rows, looks at the tables and moves the watermark. Spark has started, and one
test has run before. With `--against`, another checkout does the same in a process of its own, each thing right after
it was done here, so that a slow moment of the machine meets both; processor time is compared as well.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from benchmarks.session import is_shared
from benchmarks.testkit.stepper import Stepper

_ROOT = Path(__file__).parent.parent.parent
_WHAT = {
    "open": ("first step of a pipeline", None),
    "step": ("a step", 0.5),
    "look": ("a look at four tables", None),
    "move": ("the watermark moves by an hour", 0.5),
    "close": ("end of a test", None),
}


class _Stepping:
    """What takes the steps of the tests, and how long they took."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {name: [] for name in _WHAT}
        self.processor: dict[str, list[float]] = {name: [] for name in _WHAT}

    def do(self, name: str, *, timed: bool) -> None:
        """Has it do one thing, and waits until it is done."""
        seconds, processor = self._do(name)
        if timed:
            self.seconds[name].append(seconds)
            self.processor[name].append(processor)

    def _do(self, name: str) -> tuple[float, float]:
        raise NotImplementedError


class _Here(_Stepping):
    """This process, with its shared session."""

    def __init__(self, project: Path) -> None:
        super().__init__()
        self._stepper = Stepper(project)

    def _do(self, name: str) -> tuple[float, float]:
        return self._stepper.do(name)


class _Checkout(_Stepping):
    """A process with the code of one checkout."""

    def __init__(self, checkout: Path, project: Path) -> None:
        super().__init__()
        path = os.pathsep.join([str(checkout / "src"), str(_ROOT)])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.testkit.stepper", str(project)],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> _Checkout:
        self._answer()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()  # the end of its input is the end of it

    def _do(self, name: str) -> tuple[float, float]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{name}\n")
        self._process.stdin.flush()
        seconds, processor = self._answer().split()
        return float(seconds), float(processor)

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"ended with {self._process.wait()}")
        return line.strip()


def main() -> int:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="testkit-", dir=given.work, ignore_cleanup_errors=True) as folder:
        project = Path(folder) / "orders"
        subprocess.run([sys.executable, "-m", "penstock.cli", "init", str(project)], check=True, capture_output=True)
        if is_shared() and given.against is None:
            here = _Here(project)
            _take_turns([here], given.steps, given.warm_up)
            runs = _runs(here, None)
        elif given.against is None:
            with _Checkout(_ROOT, project) as this:
                _take_turns([this], given.steps, given.warm_up)
                runs = _runs(this, None)
        else:
            with _Checkout(_ROOT, project) as this, _Checkout(given.against.absolute(), project) as other:
                _take_turns([this, other], given.steps, given.warm_up)
                runs = _runs(this, other)
    publish(
        "testkit",
        {"steps": given.steps, "warm_up": given.warm_up, "against": _commit_of(given.against)},
        runs,
        given.results,
    )
    return 0


def _take_turns(checkouts: Sequence[_Stepping], steps: int, warm_up: int) -> None:
    for test in range(warm_up + 1):
        timed = test == warm_up
        turns = steps if timed else 3
        for name in ["open", *["step"] * turns, "look", *["move", "step"] * (turns // 3), "close"]:
            for each in checkouts:
                each.do(name, timed=timed)
            print(f"{name}: {', '.join(f'{(each.seconds[name] or [0])[-1]:.2f} s' for each in checkouts)}", flush=True)


def _runs(this: _Stepping, other: _Stepping | None) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = []
    for name, (what, goal) in _WHAT.items():
        run: dict[str, Any] = {"what": what, "goal": goal, "ratio": None, "processor_ratio": None}
        run |= {"seconds": this.seconds[name], "processor_seconds": this.processor[name]}
        if other is not None:
            run |= {"seconds_against": other.seconds[name], "processor_seconds_against": other.processor[name]}
            run["ratio"] = _ratio(this.seconds[name], other.seconds[name])
            run["processor_ratio"] = _ratio(this.processor[name], other.processor[name])
        runs.append(run)
    return runs


def _ratio(these: list[float], others: list[float]) -> float:
    return round(statistics.median(these) / statistics.median(others), 2)


def _commit_of(checkout: Path | None) -> str | None:
    if checkout is None:
        return None
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=checkout).stdout.strip()


def _arguments() -> argparse.Namespace:
    parser = parser_of("testkit", __doc__)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=1, help="tests before the one that is measured")
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="the root of another checkout to compare with")
    return parse(parser)


if __name__ == "__main__":
    raise SystemExit(main())
