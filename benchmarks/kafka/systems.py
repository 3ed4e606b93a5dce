"""The two systems that are compared: how each is started, here or as a process, and what it tells afterwards."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from benchmarks.commands import continuous_here, with_spark
from benchmarks.kafka import hand_written
from benchmarks.orders.tuned_settings import tuned_settings
from benchmarks.session import plain_session
from penstock.events import batch_progress_of, read_events
from penstock.spark.session.setup.jars import ensure_jars

_PIPELINE: Final = """\
import penstock as ps
from pyspark.sql import functions as F


@ps.table
def bronze():
    read = spark.readStream.format("kafka").option("kafka.bootstrap.servers", spark.conf.get("broker"))
    messages = read.option("subscribe", spark.conf.get("topic")).option("startingOffsets", "earliest").load()
    row = F.from_json(F.col("value").cast("string"), "id BIGINT, sent BIGINT, amount DOUBLE, note STRING")
    return messages.select(row.alias("row")).select("row.*")
"""


@dataclass(frozen=True, slots=True)
class Run:
    """What one run reads, and the folder that it has for itself."""

    folder: Path
    broker: str
    topic: str


class System(Protocol):
    """One of those that are compared."""

    def prepare(self, folder: Path) -> Path:
        """Makes the folder of a run ready and returns where its table will be."""

    def command(self, run: Run, *, once: bool) -> list[str]:
        """Returns the command that runs it, without `once` until it is stopped."""

    def once_here(self, run: Run) -> None:
        """Has it read what is there, on the shared session."""

    def continuously_here(self, run: Run) -> AbstractContextManager[Callable[[], bool]]:
        """Runs it on the shared session until the end; gives whether it still goes on."""

    def batch_seconds(self, folder: Path) -> float:
        """Returns what the batches with rows took, as Spark told it."""


class HandWritten:
    """Plain PySpark with tuned settings."""

    def prepare(self, folder: Path) -> Path:
        return folder / "bronze"

    def command(self, run: Run, *, once: bool) -> list[str]:
        settings = json.dumps(tuned_settings(ensure_jars("core")))
        words = [run.broker, run.topic, str(run.folder), settings, *(["once"] if once else [])]
        return [sys.executable, "-m", "benchmarks.kafka.hand_written", *words]

    def once_here(self, run: Run) -> None:
        query = hand_written.start(plain_session(), run.broker, run.topic, str(run.folder), once=True)
        query.awaitTermination()
        hand_written.note_seconds(query, str(run.folder))

    @contextmanager
    def continuously_here(self, run: Run) -> Iterator[Callable[[], bool]]:
        query = hand_written.start(plain_session(), run.broker, run.topic, str(run.folder), once=False)
        try:
            yield lambda: bool(query.isActive)
        finally:
            query.stop()

    def batch_seconds(self, folder: Path) -> float:
        return float((folder / "batch_seconds").read_text())


class Penstock:
    """`penstock run` with Penstock's defaults."""

    def prepare(self, folder: Path) -> Path:
        (folder / "penstock.yml").write_text("name: kafka\nschema: bench\n")
        (folder / "pipeline.py").write_text(_PIPELINE)
        return folder / ".penstock/tables/bench/bronze"

    def command(self, run: Run, *, once: bool) -> list[str]:
        given = [f"--set={key}={value}" for key, value in _overrides(run).items()]
        ends = [] if once else ["--continuous"]
        return [sys.executable, "-m", "penstock.cli", "run", str(run.folder), *given, *ends]

    def once_here(self, run: Run) -> None:
        with_spark("run", run.folder, _overrides(run))

    def continuously_here(self, run: Run) -> AbstractContextManager[Callable[[], bool]]:
        return continuous_here(run.folder, _overrides(run))

    def batch_seconds(self, folder: Path) -> float:
        batches = [batch_progress_of(event) for event in read_events(str(folder / ".penstock"))]
        return sum(each.batch_duration_ms or 0 for each in batches if each is not None and each.num_input_rows) / 1000


SYSTEMS: Final[Mapping[str, System]] = {"hand-written-tuned": HandWritten(), "penstock": Penstock()}


def _overrides(run: Run) -> dict[str, str]:
    return {"broker": run.broker, "topic": run.topic}
