"""Times Kafka into a bronze table: `python -m benchmarks.kafka [--seconds N] [--rate N] [--backlog N] [--repeat N]`.

Broker, producer and the measured system share the machine. First each system runs continuously while messages are sent
at a steady rate: the latency of a row is the time from when it was due to the commit that holds it. The first seconds
(`--warm-up`) do not count. Then each system catches up with a backlog in one run: rows per second of its batches.
Systems take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.integration.kafka_broker import KafkaBroker
from tests.processes import end_family

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from benchmarks.kafka.readable import Readable, rows_of
from benchmarks.kafka.systems import SYSTEMS, Run
from benchmarks.session import is_shared

_ROOT: Final = Path(__file__).parent.parent.parent
_PATIENCE_SECONDS: Final = 600.0


def main() -> int:
    given = _arguments()
    runs: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory(prefix="kafka-", dir=given.work) as folder,
        KafkaBroker(Path(folder) / "broker") as broker,
    ):
        for turn in range(given.repeat):
            for system in SYSTEMS:
                place = Path(folder) / f"{turn}-{system}"
                runs.append(_steady(system, place / "steady", broker, given) | {"turn": turn})
                runs.append(_backlog(system, place / "backlog", broker, given.backlog) | {"turn": turn})
                shutil.rmtree(place)
    for run in runs:
        print(json.dumps(run), flush=True)
    publish("kafka", {key: value for key, value in vars(given).items() if isinstance(value, int)}, runs, given.results)
    return 0 if all(run["correct"] for run in runs) else 1


def _steady(system: str, folder: Path, broker: KafkaBroker, given: argparse.Namespace) -> dict[str, Any]:
    topic, rows = _topic(broker, folder), given.seconds * given.rate
    table = _prepared(system, folder)
    with _continuously(system, Run(folder, broker.address, topic)) as goes_on:
        # The producer begins at once: the start of the system lies in the seconds that do not count.
        subprocess.run(_producer(broker.address, topic, rows, given.rate), check=True, cwd=_ROOT)
        _wait(goes_on, table, rows)
    found = Readable.of(table)
    first = given.warm_up * given.rate
    return {
        "what": f"{system}: {given.rate} rows/s",
        "system": system,
        "correct": found.has_each(rows),
        "p50_seconds": found.percentile(50, from_id=first),
        "p99_seconds": found.percentile(99, from_id=first),
        "largest_seconds": found.percentile(100, from_id=first),
        "commits": found.commits,
    }


def _backlog(system: str, folder: Path, broker: KafkaBroker, rows: int) -> dict[str, Any]:
    topic, table = _topic(broker, folder), _prepared(system, folder)
    subprocess.run(_producer(broker.address, topic, rows, 0), check=True, cwd=_ROOT)
    started = time.time()
    _once(system, Run(folder, broker.address, topic))
    found = Readable.of(table)
    ended = max(commit.stat().st_mtime for commit in (table / "_delta_log").glob("*.json"))
    batch = SYSTEMS[system].batch_seconds(folder)
    return {
        "what": f"{system}: backlog",
        "system": system,
        "correct": found.has_each(rows),
        "seconds_from_start": round(ended - started, 2),
        "batch_seconds": round(batch, 2),
        "rows_per_second": round(rows / batch),
    }


def _prepared(system: str, folder: Path) -> Path:
    folder.mkdir(parents=True)
    return SYSTEMS[system].prepare(folder)


@contextmanager
def _continuously(system: str, run: Run) -> Iterator[Callable[[], bool]]:
    """Runs a system until the end, on the shared session if there is one; gives whether it still goes on."""
    if is_shared():
        with SYSTEMS[system].continuously_here(run) as goes_on:
            yield goes_on
        return
    with _running(SYSTEMS[system].command(run, once=False), run.folder) as process:
        yield lambda: process.poll() in {None, 0}


def _once(system: str, run: Run) -> None:
    """Has a system read what is there."""
    if is_shared():
        SYSTEMS[system].once_here(run)
        return
    with _running(SYSTEMS[system].command(run, once=True), run.folder) as process:
        process.wait(_PATIENCE_SECONDS)


def _producer(broker: str, topic: str, rows: int, rate: int) -> list[str]:
    return [sys.executable, "-m", "benchmarks.kafka.producer", broker, topic, str(rows), str(rate)]


def _topic(broker: KafkaBroker, folder: Path) -> str:
    name = f"{folder.parent.name}-{folder.name}"
    broker.create_topic(name, partitions=2)
    return name


@contextmanager
def _running(command: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a system; at the end it is asked to stop, and its processes are gone."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=_ROOT, stdout=log, stderr=log, env={**environ, "SPARK_LOCAL_IP": "127.0.0.1"}
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                end_family(process.pid)


def _wait(goes_on: Callable[[], bool], table: Path, rows: int) -> None:
    """Waits until the table has that many rows."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while rows_of(table) < rows:
        if time.monotonic() > until or not goes_on():
            raise SystemExit(f"{rows_of(table)} of {rows} rows, see {table}")
        time.sleep(1)


def _arguments() -> argparse.Namespace:
    parser = parser_of("kafka", __doc__)
    parser.add_argument("--seconds", type=int, default=600, help="of messages at a steady rate")
    parser.add_argument("--rate", type=int, default=5000, help="rows per second")
    parser.add_argument("--warm-up", type=int, default=30, help="seconds at the beginning that do not count")
    parser.add_argument("--backlog", type=int, default=2_000_000, help="rows to catch up with")
    parser.add_argument("--repeat", type=int, default=1)
    return parse(parser)


if __name__ == "__main__":
    raise SystemExit(main())
