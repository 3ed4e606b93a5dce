"""What accelerators speed up, in sizes that a benchmark chooses: each workload is prepared, and its work done once."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.startup.large_pipeline import write_pipeline
from penstock.config import load_project
from penstock.plan.selection import RefreshSelection
from penstock.runtime import run_update, validate
from penstock.spark.sources.auto_loader import load_auto_loader, load_files
from penstock.spark.sources.stream_read import StreamRead
from penstock.spark.streams.earlier_batches import repair_offset_log

_WARM_UP: Final = 10
_AT_ONCE: Final = "20000"
_PIPELINE: Final = """\
import penstock as ps


@ps.table
def orders():
    read = spark.readStream.schema("id LONG, customer STRING, amount DOUBLE")
    return read.option("maxFilesPerTrigger", 1).json("in")
"""
_VIEW: Final = """

@ps.materialized_view
def customers():
    return spark.read.table("orders").groupBy("customer").agg({"amount": "sum", "*": "count"})
"""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much a workload does: tables to analyse, batches to write, files that were read, rows to infer from."""

    tables: int
    batches: int
    files: int
    rows: int


Workload = Callable[[SparkSession, Path, Sizes], AbstractContextManager[Callable[[], None]]]
"""Prepares the work in an empty folder, as warm as it is later in a run; what it yields is measured."""


@contextmanager
def analysis(spark: SparkSession, folder: Path, sizes: Sizes) -> Iterator[Callable[[], None]]:
    """`penstock validate` of many tables, in a session that has done it before."""
    write_pipeline(folder / "large", sizes.tables)
    config = load_project(folder / "large")

    def work() -> None:
        _require_none(validate(config, spark=spark).errors)

    work()
    yield work


@contextmanager
def small_batches(spark: SparkSession, folder: Path, sizes: Sizes) -> Iterator[Callable[[], None]]:
    """A run of as many batches as there are files of ten rows, into a table that has some batches already."""
    (folder / "penstock.yml").write_text("name: small\nschema: bench\n")
    (folder / "pipeline.py").write_text(_PIPELINE)
    (folder / "in").mkdir()
    config = load_project(folder)

    def work() -> None:
        _require_none(run_update(config, RefreshSelection(), spark=spark).errors)

    warm_up = min(_WARM_UP, sizes.batches)
    _write_orders(folder / "in", 0, warm_up)
    work()
    _write_orders(folder / "in", warm_up, sizes.batches)
    yield work
    rows = spark.read.format("delta").load(str(folder / ".penstock/tables/bench/orders")).count()
    if rows != 10 * (warm_up + sizes.batches):
        raise SystemExit(f"{rows} rows of {10 * (warm_up + sizes.batches)}")


@contextmanager
def views(spark: SparkSession, folder: Path, sizes: Sizes) -> Iterator[Callable[[], None]]:
    """Runs of a pipeline with a materialized view over a table that gets a file of rows each time."""
    (folder / "penstock.yml").write_text("name: views\nschema: bench\n")
    (folder / "pipeline.py").write_text(_PIPELINE + _VIEW)
    (folder / "in").mkdir()
    config, runs = load_project(folder), max(sizes.batches // 10, 1)
    arrived = 0

    def run() -> None:
        nonlocal arrived
        _write_orders(folder / "in", arrived, 1, rows=sizes.rows // 10)
        arrived += 1
        _require_none(run_update(config, RefreshSelection(), spark=spark).errors)

    def work() -> None:
        for _ in range(runs):
            run()

    run()
    yield work
    [counted] = spark.read.format("delta").load(str(folder / ".penstock/tables/bench/customers")).collect()
    if counted["count(1)"] != arrived * (sizes.rows // 10):
        raise SystemExit(f"{counted['count(1)']} rows of {arrived * (sizes.rows // 10)}")


@contextmanager
def arriving_files(spark: SparkSession, folder: Path, sizes: Sizes) -> Iterator[Callable[[], None]]:
    """Auto Loader starts over a folder whose files were read before, and takes in one file more in each batch."""
    landing = folder / "in"
    landing.mkdir()
    for number in range(sizes.files):
        (landing / f"{number:08}.json").write_bytes(b"" if number else b'{"id": 1}\n')
    with _streaming(spark, folder) as query:
        query.processAllAvailable()

    def work() -> None:
        with _streaming(spark, folder) as query:
            for number in range(sizes.batches):
                hidden = landing / f".a{number}.json"
                hidden.write_text('{"id": 1}\n')
                hidden.rename(landing / hidden.name[1:])
                query.processAllAvailable()

    yield work
    rows = spark.read.format("delta").load(str(folder / "table")).count()
    if rows != 1 + sizes.batches:
        raise SystemExit(f"{rows} rows of {1 + sizes.batches}")


@contextmanager
def inference(spark: SparkSession, folder: Path, sizes: Sizes) -> Iterator[Callable[[], None]]:
    """Auto Loader infers the columns of JSON files, all of the same ones."""
    landing = folder / "in"
    landing.mkdir()
    _write_orders(landing, 0, 4, rows=sizes.rows // 4)
    options = {"cloudFiles.format": "json", "cloudFiles.inferColumnTypes": "true"}

    def work() -> None:
        names = load_files(spark, StreamRead("cloudFiles", options, None, str(landing))).columns
        if names[:3] != ["amount", "customer", "id"]:
            raise SystemExit(f"columns are {names}")

    work()
    yield work


WORKLOADS: Final[dict[str, Workload]] = {
    each.__name__: each for each in (analysis, small_batches, views, arriving_files, inference)
}


@contextmanager
def _streaming(spark: SparkSession, folder: Path) -> Iterator[StreamingQuery]:
    given = {"cloudFiles.format": "json", "cloudFiles.maxFilesPerTrigger": _AT_ONCE}
    read = StreamRead("cloudFiles", given, None, str(folder / "in"))
    frame, _ = load_auto_loader(spark, read, schema_location=str(folder / "schemas"), source_name="files", persist=True)
    repair_offset_log(str(folder / "checkpoint"), 2)
    writer = frame.writeStream.format("delta").option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(processingTime="0 seconds").start(str(folder / "table"))
    try:
        yield query
    finally:
        query.stop()


def _write_orders(landing: Path, first: int, files: int, *, rows: int = 10) -> None:
    before = time.time() - 3600  # else a start waits until nobody writes them
    for number in range(first, first + files):
        order = json.dumps({"id": number, "customer": "customer-042", "amount": 49.8})
        file = landing / f"{number:06}.json"
        file.write_text(f"{order}\n" * rows)
        os.utime(file, (before + number, before + number))


def _require_none(errors: Sequence[Exception]) -> None:
    if errors:
        raise SystemExit(f"the pipeline failed: {errors[0]}")
