"""Snapshots of RocksDB state that are on the storage as soon as a batch has made them, not up to a minute later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pyspark.sql import SparkSession
from tests.processes import wait_until

from penstock.spark._jvm import jvm

_STATE_STORE: Final = "spark.sql.streaming.stateStore."
EACH_BATCH: Final[Mapping[str, str]] = {
    f"{_STATE_STORE}minDeltasForSnapshot": "1",
    f"{_STATE_STORE}maintenanceInterval": "100ms",
}
"""A flow with these settings makes a snapshot of each version, beside the changes."""


@contextmanager
def snapshots_soon(spark: SparkSession) -> Iterator[None]:
    """Lets the one thread that writes snapshots, which a JVM has, take the interval of the next query that it meets."""
    package = jvm(spark).org.apache.spark.sql.execution.streaming.state
    stores: Any = getattr(getattr(package, "StateStore$"), "MODULE$")
    stores.stopMaintenanceTask()
    try:
        yield
    finally:
        stores.stopMaintenanceTask()


def await_snapshots(checkpoint: Path, version: int, *, partitions: int = 2) -> None:
    """Waits until this version of the state of a checkpoint's one operator is there as a snapshot."""
    wanted = [checkpoint / f"state/0/{partition}/{version}.zip" for partition in range(partitions)]
    wait_until(lambda: all(each.exists() for each in wanted), timeout=60, what=f"snapshots of version {version}")
