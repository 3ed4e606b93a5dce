"""OPTIMIZE and VACUUM of a Delta table, beside running flows: one task at a time, in a pool of their own."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

from pyspark.sql import SparkSession

from penstock.events.types import MaintenanceProgress
from penstock.graph.sql.names import quoted
from penstock.spark import _jvm
from penstock.spark.delta.quick_append import commit_lock
from penstock.spark.delta.tables import table_at

SMALL_FILE: Final = 64 * 1024 * 1024
"""OPTIMIZE leaves larger files alone, so that a file is not written again each time a few rows have come."""

_SETTINGS: Final = {
    "spark.databricks.delta.optimize.minFileSize": str(SMALL_FILE),
    "spark.databricks.delta.optimize.maxFileSize": str(2 * SMALL_FILE),
    # One new file at a time: a batch that wants a core waits for one task, not for as many as there are cores.
    "spark.databricks.delta.optimize.maxThreads": "1",
    # Commits what is done after each gigabyte, so that an interruption loses little.
    "spark.databricks.delta.optimize.batchSize": "1g",
    # Else each VACUUM adds two versions, and every materialized view that reads the table is computed again.
    "spark.databricks.delta.vacuum.logging.enabled": "false",
    # Else Delta 4.4 passes over RETAIN, and files go that a flow which lags behind has still to read.
    "spark.databricks.delta.vacuum.retentionWindowIgnore.enabled": "false",
}
_GROUP: Final = "maintenance"
_LISTING: Final = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
_DELETED: Final = re.compile(r"Deleted (\d+) files")


class MaintenanceSession:
    """A session beside that of the flows, with settings of its own. For use in one thread."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark.newSession()
        spark.sparkContext.setLocalProperty("spark.scheduler.pool", _GROUP)
        spark.sparkContext.setJobGroup(_GROUP, "maintenance")
        # VACUUM makes as many tasks of a list of files, even of an empty one; with Spark's 10,000 that takes 25 s.
        listing = {_LISTING: str(max(2, spark.sparkContext.defaultParallelism))}
        for key, value in {**_SETTINGS, **listing}.items():
            self._spark.conf.set(key, value)

    def optimize(self, path: str, z_order: Sequence[str]) -> MaintenanceProgress:
        """Puts small files of the table together, clustered if the table is; no row changes.

        Returns the files written, and those taken out of the table's newest version with their bytes.

        Concurrent appends go on undisturbed; a concurrent MERGE may fail.

        Raises:
            PySparkException, Py4JJavaError: Delta's own, also when somebody else has removed the same files.
        """
        by = f" ZORDER BY ({', '.join(map(quoted, z_order))})" if z_order else ""
        with commit_lock(path):
            metrics = self._spark.sql(f"OPTIMIZE {table_at(path)}{by}").collect()[0]["metrics"]
        return MaintenanceProgress(
            files_added=metrics["numFilesAdded"],
            files_removed=metrics["numFilesRemoved"],
            bytes_removed=metrics["filesRemoved"]["totalSize"],
        )

    def vacuum(self, path: str, retention: float) -> int:
        """Deletes files that no version needs which is younger than `retention` seconds; returns how many.

        Raises:
            PySparkException, Py4JJavaError: Delta's own.
        """
        with _jvm.printing_to(self._spark) as printed:
            self._spark.sql(f"VACUUM {table_at(path)} RETAIN {_hours(retention)} HOURS").collect()
            found = _DELETED.search(printed())
        return int(found[1]) if found else 0

    def deletable(self, path: str, retention: float) -> tuple[str, ...]:
        """Returns what `vacuum` would delete: the URIs of up to a thousand files."""
        rows = self._spark.sql(f"VACUUM {table_at(path)} RETAIN {_hours(retention)} HOURS DRY RUN").collect()
        return tuple(row["path"] for row in rows)


def cancel(spark: SparkSession) -> None:
    """Ends what a `MaintenanceSession` is doing, which fails; what it has committed stays."""
    spark.sparkContext.cancelJobGroup(_GROUP)


def _hours(seconds: float) -> int:
    return math.ceil(seconds / 3600)
