"""Times Kinesis into a Delta table, from moto on this machine: `python -m benchmarks.kinesis [--shards N]`.

Three times the same records: moto alone (all shards asked at once with boto3, answers thrown away), the source without
Spark (fetched, and turned into Arrow files), and a pipeline. A pipeline's time is that of its batches. Moto, the source
and Spark share the machine's cores.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tests.integration.kinesis_server import KinesisServer

from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish

_GOAL: Final = 5.0
_STREAM: Final = "bench"
_PIPELINE: Final = """\
import penstock as ps


@ps.table
def records():
    return spark.readStream.format("kinesis").options(**{options}).load()
"""


def main() -> int:
    given = _arguments()
    runs: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory(prefix="kinesis-", dir=given.work) as folder,
        KinesisServer(Path(folder)) as server,
    ):
        count = given.megabytes * 1_000_000 // given.record_bytes
        server.create(_STREAM, given.shards)
        for start in range(0, count, 500):
            numbers = range(start, min(start + 500, count))
            server.put(_STREAM, [f"{number:010}".ljust(given.record_bytes, "x") for number in numbers])
        options = server.options(_STREAM, maxFetchRate="2.0")
        ways: dict[str, Callable[[], tuple[float, int]]] = {
            "moto alone": lambda: _alone(server),
            "the source without Spark": lambda: _without_spark(options),
            "a pipeline into a Delta table": lambda: _pipeline(Path(folder), options),
        }
        for what, way in ways.items():
            seconds, rows = way()
            if rows != count:
                raise SystemExit(f"{what} read {rows} records, not {count}")
            rate = round(given.megabytes / seconds, 1)
            goal = _GOAL if what.startswith("a pipeline") else None
            runs.append({"what": what, "seconds": [round(seconds, 2)], "megabytes_per_second": rate, "goal": goal})
            print(f"{what}: {rate} MB/s", flush=True)
    arguments = {"megabytes": given.megabytes, "shards": given.shards, "record_bytes": given.record_bytes}
    publish("kinesis", arguments, runs, given.results)
    return 0


def _alone(server: KinesisServer) -> tuple[float, int]:
    def read(shard: str) -> int:
        asked = {"StreamName": _STREAM, "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
        iterator, rows, behind = server.client.get_shard_iterator(**asked)["ShardIterator"], 0, 1
        while behind:
            answer = server.client.get_records(ShardIterator=iterator)
            iterator, behind = answer["NextShardIterator"], answer["MillisBehindLatest"]
            rows += len(answer["Records"])
        return rows

    shards = [each["ShardId"] for each in server.client.list_shards(StreamName=_STREAM)["Shards"]]
    started = time.monotonic()
    with ThreadPoolExecutor(len(shards)) as pool:
        rows = sum(pool.map(read, shards))
    return time.monotonic() - started, rows


def _without_spark(options: dict[str, str]) -> tuple[float, int]:
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    from penstock.connectors.kinesis.options import parse_options
    from penstock.connectors.kinesis.stream_reader import KinesisStreamReader

    reader = KinesisStreamReader(parse_options(options))
    reader.prepareForTriggerAvailableNow()
    rows, at = 0, reader.initialOffset()
    started = time.monotonic()
    while (end := reader.latestOffset(at, ReadAllAvailable())) != at:
        rows += sum(batch.num_rows for part in reader.partitions(at, end) for batch in reader.read(part))
        reader.commit(end)
        at = end
    seconds = time.monotonic() - started
    reader.stop()
    return seconds, rows


def _pipeline(folder: Path, options: dict[str, str]) -> tuple[float, int]:
    from benchmarks.session import is_shared, start_session, stop_session
    from penstock.config import load_project
    from penstock.events import batch_progress_of, read_events
    from penstock.plan.selection import RefreshSelection
    from penstock.runtime import run_update
    from penstock.spark.session.launch import SessionConfig

    (folder / "penstock.yml").write_text("name: kinesis\nschema: bench\n")
    spark = start_session(SessionConfig("kinesis", python_roots=(folder,)))
    seconds, rows = 0.0, 0
    for turn in ("timed",) if is_shared() else ("warm", "timed"):
        (folder / "pipeline.py").write_text(_PIPELINE.format(options=json.dumps(options)))
        config = replace(load_project(folder), storage=str(folder / turn))
        outcome = run_update(config, RefreshSelection(), spark=spark)
        if outcome.errors:
            raise SystemExit(str(outcome.errors[0]))
        batches = [batch for event in read_events(config.storage) if (batch := batch_progress_of(event)) is not None]
        seconds = sum(batch.batch_duration_ms or 0 for batch in batches) / 1000
        rows = sum(batch.num_output_rows for batch in batches)
    stop_session(spark)
    return seconds, rows


def _arguments() -> argparse.Namespace:
    parser = parser_of("kinesis", __doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--shards", type=int, default=8, help="of the stream; each gives 2 MB/s at most")
    parser.add_argument("--record-bytes", type=int, default=1000)
    return parse(parser)


if __name__ == "__main__":
    raise SystemExit(main())
