"""Times queries with state: `python -m benchmarks.stateful [--rows N] [--repeat N] [--queries A,B]`.

Each query runs as a flow of Penstock and as plain PySpark, with the same settings (RocksDB, changelog checkpoints, as
many shuffle partitions as cores) into Delta, in turn in one session, so that a slow moment of the machine meets both; a
ratio is the median of those of the rounds. The time of a run is that of the batches after the first one, and of all
that happens between them. No row is late: what it costs to look for late rows is told for the windows.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from benchmarks.stateful.input import WARM_UP, Result, Truth, write_input
from benchmarks.stateful.queries import QUERIES
from benchmarks.stateful.ways import BY_HAND, PENSTOCK, WAYS, WITHOUT_LATE_ROWS

_GOAL = 1.10  # of the time by hand
_GOAL_LATE_ROWS = 1.03
_LOOKED_AT = "windows"
"""The query that runs without looking for late rows, too."""

Seconds = dict[tuple[str, str], list[float]]
"""By query and way, one of each round."""


def main() -> int:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="stateful-", dir=given.work) as folder:
        source = Path(folder) / "input"
        truth = write_input(source, given.rows, given.batches)
        seconds = _measure(Path(folder), source, truth.results(), given)
    arguments = {name: getattr(given, name) for name in ("rows", "batches", "repeat", "warm_up", "queries", "memory")}
    runs = [each for query in given.queries for each in _runs(query, seconds, truth, given.batches)]
    publish("stateful", arguments, runs, given.results)
    return 0


def _measure(folder: Path, source: Path, results: dict[str, Result], given: argparse.Namespace) -> Seconds:
    from benchmarks.session import start_session, stop_session
    from penstock.spark.session.launch import SessionConfig

    pairs = [(query, way) for query in given.queries for way in WAYS if query == _LOOKED_AT or way != WITHOUT_LATE_ROWS]
    seconds: Seconds = {pair: [] for pair in pairs}
    batches: dict[str, int] = {}
    spark = start_session(
        SessionConfig("stateful", spark_conf={"spark.driver.memory": given.memory}, python_roots=(folder,))
    )
    for turn in range(1 - given.warm_up, given.repeat + 1):
        for query, way in pairs if turn % 2 else reversed(pairs):
            project = folder / "run"
            project.mkdir()
            ran = WAYS[way](spark, query, source, project)
            _check(query, way, ran.table, results[query])
            if batches.setdefault(query, ran.batches) != ran.batches:
                raise SystemExit(f"{query}, {way}: {ran.batches} batches, and {batches[query]} before")
            took = ran.seconds
            shutil.rmtree(project)
            if turn > 0:
                seconds[query, way].append(took)
            print(f"{turn}: {query}, {way}: {took:.2f} s", flush=True)
    stop_session(spark)
    return seconds


def _check(query: str, way: str, table: Path, wanted: Result) -> None:
    """Makes sure that a run wrote what it should; a fast run that loses rows is no result."""
    from deltalake import DeltaTable

    column = QUERIES[query].checked
    values: list[Any] = DeltaTable(str(table)).to_pyarrow_table(columns=[column])[column].to_pylist()
    found = Result(len(values), sum(values))
    if found != wanted:
        raise SystemExit(f"{query}, {way}: {found}, and not {wanted}")


def _runs(query: str, seconds: Seconds, truth: Truth, batches: int) -> list[dict[str, Any]]:
    rows = sum(truth.read[folder] for folder in QUERIES[query].folders) * (batches - WARM_UP) // batches
    runs = [_run(f"{query}, {way}", taken, rows) for (of, way), taken in seconds.items() if of == query]
    runs[-1] |= {"base": BY_HAND, "ratio": _ratio(seconds, query, BY_HAND), "goal": _GOAL}
    runs[-1]["goal_rows_per_second"] = QUERIES[query].goal
    if query == _LOOKED_AT:
        ratio = _ratio(seconds, query, WITHOUT_LATE_ROWS)
        looked = {"what": f"{query}, looking for late rows", "base": "late rows not looked for", "ratio": ratio}
        runs.append({**_run("", seconds[query, PENSTOCK], rows), **looked, "goal": _GOAL_LATE_ROWS})
    return runs


def _run(what: str, taken: list[float], rows: int) -> dict[str, Any]:
    return {
        "what": what,
        "seconds": [round(each, 3) for each in taken],
        "rows_per_second": round(rows / statistics.median(taken)),
        "goal_rows_per_second": None,
        "base": None,
        "ratio": None,
        "goal": None,
    }


def _ratio(seconds: Seconds, query: str, base: str) -> float:
    ratios = [penstock / other for penstock, other in zip(seconds[query, PENSTOCK], seconds[query, base], strict=True)]
    return round(statistics.median(ratios), 3)


def _arguments() -> argparse.Namespace:
    parser = parser_of("stateful", __doc__)
    parser.add_argument("--rows", type=int, default=1_200_000, help="orders; a quarter of them is paid")
    parser.add_argument("--batches", type=int, default=4, help="of a run; the first one is not timed")
    parser.add_argument("--repeat", type=int, default=3, help="rounds that are measured")
    parser.add_argument("--warm-up", type=int, default=1, help="rounds before those, not measured")
    parser.add_argument("--queries", type=_queries, default=list(QUERIES), help=f"some of {','.join(QUERIES)}")
    parser.add_argument("--memory", default="2g", help="of the driver")
    return parse(parser)


def _queries(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(QUERIES):
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(QUERIES)}")
    return names


if __name__ == "__main__":
    raise SystemExit(main())
