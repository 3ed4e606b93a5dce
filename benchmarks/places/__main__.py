"""Times small batches in each place: `python -m benchmarks.places [--batches N] [--starts N] [--places disk,s3,…]`.

A pipeline of three streaming tables (Auto Loader, a filter, counts of windows in RocksDB) and a materialized view reads
one file of 1,000 rows an update. The storage is on the disk, or in a store on loopback; `cluster` is a standalone
cluster of two workers with the storage on the disk. Each place has a process of its own, and they take turns, so that
what else the machine does slows all of them. The times are those of the batches alone, summed over the four flows, as
the event log has them; a start is that of the session.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from benchmarks.session import is_shared, start_session, stop_session

_PLACES: Final = ("disk", "s3", "azure", "gcs", "hdfs", "cluster")
_SESSIONS: Final = ("disk", "cluster")
"""The places whose start differs: a store is reached by the first batch, not by the session."""
_GOALS: Final = dict.fromkeys(_PLACES, 3.0) | {"cluster": 1.5}
_MARK: Final = "seconds:"
_ROWS: Final = 1_000
_FLOWS: Final = 4
_PIPELINE: Final = """\
import dlt
from pyspark.sql import functions as f


@dlt.table
def arrived():
    options = {{"cloudFiles.format": "json", "cloudFiles.settleTime": "0 seconds"}}
    files = spark.readStream.format("cloudFiles").options(**options)
    return files.schema("id LONG, amount DOUBLE, at TIMESTAMP").load({source!r})


@dlt.table
def paid():
    return spark.readStream.table("arrived").where("amount > 0")


@dlt.table
def by_hour():
    return spark.readStream.table("paid").withWatermark("at", "1 hour").groupBy(f.window("at", "1 hour")).count()


@dlt.table
def total():
    return spark.read.table("paid").agg(f.sum("amount").alias("amount"))
"""


def main() -> int:
    given = _arguments()
    if given.place is not None:
        with closing(_times(given.place, given.work)) as times:
            for seconds in times:
                print(_MARK, seconds, flush=True)
                if not sys.stdin.readline():
                    break
        return 0
    places = given.places.split(",")
    starts = _starts([place for place in places if place in _SESSIONS], given)
    batches = _batches(places, given)
    base, base_of_start = batches.get("disk"), starts.get("disk")
    runs = [_run(f"a batch: {place}", times, base, _GOALS[place]) for place, times in batches.items()]
    runs += [_run(f"the start of a session: {place}", times, base_of_start, None) for place, times in starts.items()]
    publish("places", {name: getattr(given, name) for name in ("batches", "starts", "places")}, runs, given.results)
    return 0


def _run(what: str, seconds: list[float], base: list[float] | None, goal: float | None) -> dict[str, Any]:
    ratio = None if base is None or base is seconds else statistics.median(seconds) / statistics.median(base)
    return {"what": what, "seconds": seconds, "ratio": ratio, "base": "disk", "goal": None if base is seconds else goal}


def _starts(places: Sequence[str], given: argparse.Namespace) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {place: [] for place in places}
    for place in places * given.starts:
        with closing(_in_a_process(place, given)) as times:
            found[place].append(next(times))
    return found if given.starts else {}


def _batches(places: Sequence[str], given: argparse.Namespace) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {place: [] for place in places}
    with ExitStack() as all_of_them:
        of: dict[str, Generator[float]] = {}
        for place in places:
            times = _times(place, given.work) if is_shared() else _in_a_process(place, given)
            of[place] = all_of_them.enter_context(closing(times))
            next(of[place])
        for turn in range(given.warm_up + given.batches):
            for place, times in of.items():
                seconds = next(times)
                if turn >= given.warm_up:
                    found[place].append(seconds)
                    print(f"{place}: {seconds:.2f} s", flush=True)
    return found


def _in_a_process(place: str, given: argparse.Namespace) -> Generator[float]:
    """Gives what `_times` gives, of a process that waits before each batch until the next one is asked for."""
    command = [sys.executable, "-m", "benchmarks.places", "--place", place]
    command += ["--work", str(given.work), "--results", str(given.results)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(_MARK):
                yield float(line.removeprefix(_MARK))
                print(file=process.stdin, flush=True)
    raise SystemExit(f"{place}: exit code {process.returncode}")


def _times(place: str, work: Path) -> Generator[float]:
    """Gives the seconds that the start of the session takes, then without end those of batches."""
    from penstock.config import load_project
    from penstock.spark.session.launch import SessionConfig
    from penstock.storage.stores.settings import use_store_settings

    with tempfile.TemporaryDirectory(prefix="places-", dir=work) as name, _place(place, Path(name)) as (lines, conf):
        folder = Path(name)
        (folder / "in").mkdir()
        (folder / "pipeline.py").write_text(_PIPELINE.format(source=str(folder / "in")))
        (folder / "penstock.yml").write_text(f"name: places\nschema: bench\n{lines}")
        config = load_project(folder)
        use_store_settings(lambda: conf)
        began = time.monotonic()
        spark = start_session(SessionConfig.of(config, short_lived=False))
        try:
            yield round(time.monotonic() - began, 3)
            for number in itertools.count():
                yield _batch(config, spark, folder / "in", number)
        finally:
            stop_session(spark)


@contextmanager
def _place(place: str, folder: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Starts the server of a place; gives the lines of the pipeline file, and the settings of the store's client."""
    from tests.integration.hdfs_server import HdfsServer
    from tests.integration.spark_standalone import SparkStandalone
    from tests.integration.store_server import store_server

    servers = folder / "servers"
    servers.mkdir()
    if place == "disk":
        yield "", {}
    elif place == "cluster":
        with SparkStandalone(servers, workers=2) as cluster:
            settings = "{spark.executor.memory: 512m, spark.sql.shuffle.partitions: 2}"
            yield f"master: {cluster.url}\nspark_conf: {settings}\n", {}
    else:
        with HdfsServer(servers) if place == "hdfs" else store_server(place, servers) as store:
            conf = store.settings()
            yield f"storage: {store.bucket('lake')}/storage\nspark_conf: {json.dumps(conf)}\n", conf


def _batch(config: Any, spark: Any, source: Path, number: int) -> float:
    """Has a file arrive and runs an update; returns the seconds of its batches."""
    from penstock.plan.selection import RefreshSelection
    from penstock.runtime import run_update

    first = number * _ROWS
    rows = ({"id": first + n, "amount": n % 7 - 1.0, "at": f"2026-01-01T{n % 24:02}:00:00Z"} for n in range(_ROWS))
    (source / f"{number}.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    durations: list[int] = []

    def count(event: Any) -> None:
        metrics = event.details.get("flow_progress", {}).get("metrics", {})
        if metrics.get("batch_duration_ms") is not None:
            durations.append(metrics["batch_duration_ms"])

    outcome = run_update(config, RefreshSelection(), spark=spark, on_event=count)
    if outcome.errors or len(durations) < _FLOWS:
        raise SystemExit(f"{len(durations)} batches instead of {_FLOWS}; {outcome.errors}")
    return round(sum(durations) / 1000, 3)


def _arguments() -> argparse.Namespace:
    parser = parser_of("places", __doc__)
    parser.add_argument("--batches", type=int, default=10, help="of each place")
    parser.add_argument("--warm-up", type=int, default=3, help="batches that are not counted: they compile")
    parser.add_argument("--starts", type=int, default=3, help="of a session on the disk and on the cluster")
    parser.add_argument("--places", default=",".join(_PLACES))
    parser.add_argument("--place", choices=_PLACES, help=argparse.SUPPRESS)
    return parse(parser)


if __name__ == "__main__":
    raise SystemExit(main())
