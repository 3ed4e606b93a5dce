"""Files that a running source does not read yet, because something may still be writing them."""

from __future__ import annotations

from contextlib import suppress

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from penstock.spark._jvm import jvm
from penstock.spark.sources.auto_loader.discovery import path_of_uri
from penstock.storage import local_path


def unsettled_files(spark: SparkSession, checkpoint: str) -> list[str]:
    """Returns the paths of the files that the sources of a query hold back, or held back when it ended."""
    with suppress(Py4JError, TypeError):  # TypeError: py4j took a class that is not there for a package
        return [local_path(path_of_uri(str(uri))) for uri in jvm(spark).penstock.files.Settling.held(checkpoint)]
    return []
