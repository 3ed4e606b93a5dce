"""Times queries at the SQL endpoint: `python -m benchmarks.serve [--rows N] [--clients N] [--repeat N]`.

`penstock serve` is started as people start it, on a table of so many rows. Clients with open sessions send a query at
the same moment, each again and again. Every answer is checked. One client alone is timed before all of them together.
"""

from __future__ import annotations

import argparse
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pyhive import hive

from benchmarks.arguments import parse, parser_of
from benchmarks.commands import PENSTOCK, with_spark
from benchmarks.compare import publish

_GOAL: Final = 1.0
_CODE: Final = """
import penstock as ps


@ps.materialized_view
def numbers():
    return spark.range({rows}).selectExpr("id", "id % 100 AS kind", "id * 0.5 AS amount")
"""
_QUERIES: Final = {
    "count": "SELECT count(*) FROM numbers",
    "filtered count": "SELECT count(*) FROM numbers WHERE kind < 50",
}


def main() -> None:
    given = _arguments()
    folder = Path(tempfile.mkdtemp(dir=given.work))
    try:
        (folder / "penstock.yml").write_text("name: shop\nschema: shop\nserve: {port: 0}\n")
        (folder / "pipeline.py").write_text(_CODE.format(rows=given.rows))
        with_spark("run", folder)
        with _served(folder) as port:
            runs = [run for what in _QUERIES for run in _measure(port, what, given)]
    finally:
        shutil.rmtree(folder)
    publish("serve", {name: getattr(given, name) for name in ("rows", "clients", "repeat")}, runs, given.results)


def _measure(port: int, what: str, given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    expected = given.rows // (2 if what.startswith("filtered") else 1)
    for clients in (1, given.clients):
        seconds = _ask_at_once(port, _QUERIES[what], expected, clients=clients, repeat=given.repeat)
        label = "client" if clients == 1 else "clients at once"
        yield {"what": f"{what} of {given.rows:,} rows, {clients} {label}", "goal": _GOAL, "seconds": seconds}


def _ask_at_once(port: int, query: str, expected: int, *, clients: int, repeat: int) -> list[float]:
    """Returns the seconds of each answer; the first one of each client warms up and does not count."""
    together = threading.Barrier(clients)

    def ask(number: int) -> list[float]:
        seconds = []
        cursor = hive.connect("127.0.0.1", port, username=f"reader{number}", database="shop").cursor()
        for _ in range(repeat + 1):
            together.wait()
            began = time.monotonic()
            cursor.execute(query)
            [(found,)] = cursor.fetchall()
            seconds.append(round(time.monotonic() - began, 3))
            if found != expected:
                raise SystemExit(f"{query}: {found} instead of {expected}")
        return seconds[1:]

    with ThreadPoolExecutor(clients) as pool:
        return [each for answers in pool.map(ask, range(clients)) for each in answers]


@contextmanager
def _served(folder: Path) -> Iterator[int]:
    log = folder / "serve.log"
    with log.open("w") as stderr:
        server = subprocess.Popen(
            [*PENSTOCK, "serve", str(folder)], stdout=subprocess.PIPE, stderr=stderr, text=True, cwd=folder
        )
    try:
        assert server.stdout is not None
        found = re.search(r"jdbc:hive2://127\.0\.0\.1:(\d+)/", server.stdout.readline())
        if found is None:
            raise SystemExit(log.read_text()[-3000:])
        yield int(found[1])
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)


def _arguments() -> argparse.Namespace:
    parser = parser_of("serve", __doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=5, help="of each client's query")
    return parse(parser)


if __name__ == "__main__":
    main()
