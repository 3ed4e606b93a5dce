"""Two ways to run a query on one session: as a flow of Penstock, and as a query that its author starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from unittest import mock

from pyspark.sql import SparkSession

from benchmarks.stateful.queries import QUERIES, files

_PIPELINE: Final = """\
import penstock as ps
from benchmarks.stateful.queries import QUERIES, files


@ps.table
def result():
    return QUERIES[{query!r}].build(lambda folder: files(spark.readStream, {source!r}, folder))
"""


@dataclass(frozen=True, slots=True)
class Ran:
    """Where a run has left its table and its checkpoint."""

    table: Path
    checkpoint: Path

    @property
    def batches(self) -> int:
        """How many batches it had, those without rows among them."""
        return len(self._commits)

    @property
    def seconds(self) -> float:
        """From the end of the first batch to that of the last one, and so all that happens between batches."""
        return self._commits[-1].stat().st_mtime - self._commits[0].stat().st_mtime

    @property
    def _commits(self) -> list[Path]:
        found = [path for path in (self.checkpoint / "commits").iterdir() if path.name.isdecimal()]
        return sorted(found, key=lambda path: int(path.name))


Way = Callable[[SparkSession, str, Path, Path], Ran]
"""Takes the name of a query, the folder of the input, and an empty one to work in."""


def by_hand(spark: SparkSession, query: str, source: Path, folder: Path) -> Ran:
    """Starts the query into a Delta table, as it is usually written."""
    # Sources have names in sessions of Penstock.
    frame = QUERIES[query].build(lambda name: files(spark.readStream.name(name), str(source), name))
    ran = Ran(folder / "result", folder / "checkpoint")
    writer = frame.writeStream.format("delta").outputMode("append").option("checkpointLocation", str(ran.checkpoint))
    writer.trigger(availableNow=True).start(str(ran.table)).awaitTermination()
    return ran


def by_penstock(spark: SparkSession, query: str, source: Path, folder: Path) -> Ran:
    """Runs a pipeline whose one table has the query."""
    from penstock.config import load_project
    from penstock.plan.selection import RefreshSelection
    from penstock.runtime import run_update

    (folder / "penstock.yml").write_text("name: stateful\nschema: bench\n")
    (folder / "pipeline.py").write_text(_PIPELINE.format(query=query, source=str(source)))
    config = replace(load_project(folder), storage=str(folder / ".penstock"))
    outcome = run_update(config, RefreshSelection(), spark=spark)
    if outcome.errors:
        raise SystemExit(str(outcome.errors[0]))
    tables = folder / ".penstock" / "tables" / "bench"
    if (tables / "result__late").exists():
        raise SystemExit(f"{query}: rows are late, and none should be")
    [checkpoint] = (folder / ".penstock" / "checkpoints").glob("bench/result/result/*")
    return Ran(tables / "result", checkpoint)


def without_late_rows(spark: SparkSession, query: str, source: Path, folder: Path) -> Ran:
    """As `by_penstock`, but nobody looks whether a batch had late rows."""
    with _nobody_looks():
        return by_penstock(spark, query, source, folder)


@contextmanager
def _nobody_looks() -> Iterator[None]:
    from penstock.runtime.flows.late.late_rows import LateRowRecorder

    with mock.patch.multiple(LateRowRecorder, notice=mock.DEFAULT, catch_up=mock.DEFAULT, keep=mock.DEFAULT):
        yield


BY_HAND, PENSTOCK, WITHOUT_LATE_ROWS = "by hand", "Penstock", "Penstock, late rows not looked for"
WAYS: Final[Mapping[str, Way]] = {
    BY_HAND: by_hand,
    WITHOUT_LATE_ROWS: without_late_rows,
    PENSTOCK: by_penstock,
}
