"""Times Auto Loader: `python -m benchmarks.auto_loader [--files N ...] [--rows N]`.

Discovery: a flat folder of so many files (most are empty, as this is about finding them) is taken in, then files arrive
one by one, before and after a restart in the same JVM. Seconds of discovery are Spark's `latestOffset`, which has the
listing and the log of the files that were read.

Throughput: the same rows into a Delta table in three ways, in turn; the ratio is that of the fastest runs.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.arguments import parse, parser_of
from benchmarks.auto_loader import discovery, throughput
from benchmarks.compare import publish
from benchmarks.session import start_session, stop_session
from penstock.spark.session.launch import SessionConfig


def main() -> int:
    given = _arguments()
    runs: list[dict[str, Any]] = []
    spark = start_session(SessionConfig("auto_loader", spark_conf={"spark.driver.memory": given.memory}))
    with tempfile.TemporaryDirectory(prefix="auto-loader-", dir=given.work) as folder:
        for files in given.files:
            found = discovery.measure_discovery(spark, Path(folder) / str(files), files, given.batches)
            runs += discovery.results(files, found)
            print(f"{files} files: {found}", flush=True)
        if given.rows:
            throughput.write_rows(Path(folder) / "rows", given.rows, given.row_files)
            measured = throughput.measure_throughput(spark, Path(folder), given.rows, given.repeat, given.warm_up)
            runs += throughput.results(given.rows, measured)
    stop_session(spark)
    names = ("files", "batches", "rows", "row_files", "repeat", "warm_up", "memory")
    publish("auto_loader", {name: getattr(given, name) for name in names}, runs, given.results)
    return 0


def _arguments() -> argparse.Namespace:
    parser = parser_of("auto_loader", __doc__)
    parser.add_argument("--files", type=int, nargs="*", default=[1_000, 10_000, 100_000], help="of a folder")
    parser.add_argument("--batches", type=int, default=25, help="of one more file each, before and after the restart")
    parser.add_argument("--rows", type=int, default=1_000_000, help="that are read; 0 for discovery only")
    parser.add_argument("--row-files", type=int, default=100, help="in which these rows are")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each way of reading")
    parser.add_argument("--warm-up", type=int, default=1, help="rounds before those, not measured")
    parser.add_argument("--memory", default="2g", help="of the driver")
    return parse(parser)


if __name__ == "__main__":
    raise SystemExit(main())
