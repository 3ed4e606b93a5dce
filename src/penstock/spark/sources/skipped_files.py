"""Files that Spark leaves out because of `ignoreCorruptFiles` or `ignoreMissingFiles`, and names in its log only."""

from __future__ import annotations

from contextlib import suppress

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from penstock.spark._jvm import jvm


def listen_for_skipped_files(spark: SparkSession) -> None:
    """Begins to note such files, of all queries that run in this process; calling it again changes nothing.

    What other machines of a cluster leave out is in their logs only.
    """
    with suppress(Py4JError, TypeError):  # TypeError: py4j took a class that is not there for a package
        jvm(spark).penstock.files.SkippedFiles.listen()


def skipped_files(spark: SparkSession, *, gone: bool) -> list[str]:
    """Returns the URIs of the files that were noted, each once: of those that were gone, or else corrupt."""
    with suppress(Py4JError, TypeError):
        return list(map(str, jvm(spark).penstock.files.SkippedFiles.all(gone)))
    return []
