"""In how many tasks Delta rebuilds the state of tables from their logs: by what the largest holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:  # commands that start no Spark read the defaults of a session
    from pyspark.sql import SparkSession

SNAPSHOT_PARTITIONS: Final = "spark.databricks.delta.snapshotPartitions"
SMALL: Final = "1"
"""What a session begins with: where tables are small, more tasks cost more than they save."""

_FILES_A_TASK: Final = 20_000
"""So many entries of files a task has where Delta's own 50 tasks rebuild a table of a million."""
_MOST: Final = 50
"""Delta's own number."""


def snapshot_partitions(files: int) -> int:
    """Returns the number of tasks for a table of so many files."""
    return max(1, min(math.ceil(files / _FILES_A_TASK), _MOST))


def fit_snapshot_partitions(spark: SparkSession, files: int, chosen: Mapping[str, str]) -> None:
    """Sets the number on the session whose largest table has so many files; what a user has `chosen` stays."""
    tasks = snapshot_partitions(files)
    if tasks > int(SMALL) and SNAPSHOT_PARTITIONS not in chosen and spark.conf.get(SNAPSHOT_PARTITIONS, None) == SMALL:
        spark.conf.set(SNAPSHOT_PARTITIONS, str(tasks))
