"""Runs the examples of scenarios and puts what they print into their page: python tools/record_scenarios.py.

Each runs for `--seconds N` while its generator writes files; then come `penstock doctor` and `penstock cost`. Their
times are those of this machine at this moment, which the page says: run it on an idle one.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples/scenarios"
PAGE = ROOT / "docs/how-to/scenarios.md"
WORK = ROOT / ".docs/scenarios"
SHOWN_AT: Final = "/srv"
PENSTOCK: Final = str(Path(sys.executable).parent / "penstock")
ENVIRONMENT: Final = {**os.environ, "COLUMNS": "150", "NO_COLOR": "1"}

LIVE: Final = {"high-volume-iot": 0.1, "real-time-dashboard": 1.0, "complex-windows": 0.5}
"""Of the scenarios that go on, the seconds between two files."""

PERIODIC: Final = "periodic-aggregates"
_RUNS: Final = 4
_FILES: Final = 6
_COST: Final = {
    "high-volume-iot": ["--trigger", "10 seconds", "--trigger", "30 seconds", "--every", "1 minute"],
    "real-time-dashboard": ["--trigger", "1 second", "--trigger", "10 seconds", "--every", "1 minute"],
    PERIODIC: ["--trigger", "1 minute", "--every", "1 minute", "--every", "2 minutes"],
    "complex-windows": ["--trigger", "10 seconds", "--trigger", "30 seconds", "--every", "1 minute"],
}
_LEFT_OUT: Final = ("Reliability", "Security", "Monitoring")
"""Groups of the checklist whose lines are the same for all of them."""
_TIMED: Final = re.compile(r"\d\d:\d\d:\d\d ")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=240, help="how long each scenario runs")
    given = parser.parse_args()
    load = f"{os.getloadavg()[0]:.1f}"
    shutil.rmtree(WORK, ignore_errors=True)
    text = PAGE.read_text(encoding="utf-8")
    for name in sorted(_COST):
        project = WORK / name
        shutil.copytree(EXAMPLES / name, project, ignore=shutil.ignore_patterns(".penstock", "data", "__pycache__"))
        run = _periodic(project, given.seconds) if name == PERIODIC else _live(project, given.seconds, LIVE[name])
        outputs = {
            "run": _shortened(run.splitlines()),
            "doctor": _groups(_penstock(project, "doctor").splitlines()),
            "cost": _penstock(project, "cost", "--hourly-price", "15", *_COST[name]).splitlines(),
        }
        for command, lines in outputs.items():
            text = _replaced(text, f"{name} {command}", ["```text", *_clean(lines), "```"])
        PAGE.write_text(text, encoding="utf-8")
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    said = (
        f"The outputs are of {today}, of runs of {given.seconds:g} seconds on {os.cpu_count()} cores, on which other "
        f"programs ran too (load {load} before, {os.getloadavg()[0]:.1f} after). Your times will differ."
    )
    PAGE.write_text(_replaced(text, "machine", [said]), encoding="utf-8")


def _live(project: Path, seconds: float, pause: float) -> str:
    files = [sys.executable, "make_data.py", "--files", str(round(seconds / pause)), "--pause", str(pause)]
    generator = subprocess.Popen(files, cwd=project)
    running = subprocess.Popen(
        [PENSTOCK, "run"], cwd=project, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    time.sleep(seconds)
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate()
    generator.terminate()
    generator.wait()
    return output


def _periodic(project: Path, seconds: float) -> str:
    output = ""
    for number in range(_RUNS):
        due = time.monotonic() + seconds / _RUNS
        files = ["make_data.py", "--files", str(_FILES), "--first", str(number * _FILES)]
        subprocess.run([sys.executable, *files], cwd=project, check=True)
        output = _penstock(project, "run")
        time.sleep(max(due - time.monotonic(), 0) if number + 1 < _RUNS else 0)
    return output


def _penstock(project: Path, *words: str) -> str:
    command = [PENSTOCK, *words]
    done = subprocess.run(
        command, cwd=project, env=ENVIRONMENT, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        raise SystemExit(done.stdout)
    return done.stdout


def _shortened(lines: Sequence[str]) -> list[str]:
    """Leaves out what is in the middle of a long run."""
    timed = [line for line in lines if _TIMED.match(line)]
    left_out = set(timed[12:-4])
    found: list[str] = []
    for line in lines:
        if line not in left_out:
            found.append(line)
        elif found[-1] != "…":
            found.append("…")
    return found


def _groups(lines: Sequence[str]) -> list[str]:
    """Returns the groups of the checklist that say something about the scenario, and the conclusion."""
    found: list[str] = []
    shown = False
    for line in lines:
        if not line.startswith(" "):
            shown = line not in _LEFT_OUT
        if shown:
            found.append(line)
    return found


def _clean(lines: Iterable[str]) -> list[str]:
    """Without the places of this machine, and blank lines of tables."""
    return [line.rstrip().replace(str(WORK), SHOWN_AT) for line in lines if line.strip()]


def _replaced(text: str, name: str, lines: Sequence[str]) -> str:
    begin, end = f"<!-- output: {name} -->", f"<!-- /output: {name} -->"
    before, _, rest = text.partition(begin)
    _, _, after = rest.partition(end)
    if not after:
        raise SystemExit(f"{PAGE} has no place for {name}")
    return before + "\n".join([begin, *lines, end]) + after


if __name__ == "__main__":
    main()
