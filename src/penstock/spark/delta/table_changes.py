"""The rows that came into a Delta table, and those that left it, between two versions: only their files are read.

A file that a commit wrote again, for the sake of one row, brings its other rows into both.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.spark import _jvm
from penstock.spark.delta.tables import table_at


@dataclass(frozen=True, slots=True)
class TableChanges:
    """Rows with the columns of the newer version, `added`, and of the older one, `removed`."""

    added: DataFrame
    removed: DataFrame


def changes_between(spark: SparkSession, path: str, before: int, after: int | None = None) -> TableChanges:
    """Returns what changed in the table at `path` after version `before`, up to `after`: None is the newest version.

    Raises:
        PySparkException, Py4JJavaError: the log does not reach back to one of the versions.
    """
    if after is None:
        after = int(DeltaTable.forPath(spark, path).history(1).collect()[0]["version"])
    old, new = (_jvm.table_snapshot(_at(spark, path, version)) for version in (before, after))
    names = [_names(spark, each) for each in (old, new)]
    return TableChanges(_rows(spark, new, names[1] - names[0]), _rows(spark, old, names[0] - names[1]))


def clone_table(spark: SparkSession, path: str, version: int, target: str) -> None:
    """Makes a table at `target` of the files that the one at `path` had in a version; no file of rows is copied."""
    spark.sql(f"CREATE TABLE {table_at(target)} SHALLOW CLONE {table_at(path)} VERSION AS OF {version}")


def _at(spark: SparkSession, path: str, version: int) -> DataFrame:
    return spark.read.format("delta").option("versionAsOf", version).load(path)


def _name() -> Column:
    """A file is another one when other rows of it are marked as deleted."""
    return sf.concat_ws("|", "path", "deletionVector.pathOrInlineDv", "deletionVector.offset")


def _names(spark: SparkSession, snapshot: Any) -> frozenset[str]:
    files = DataFrame(snapshot.allFiles().toDF(), spark)
    return frozenset(row["name"] for row in files.select(_name().alias("name")).collect())


def _rows(spark: SparkSession, snapshot: Any, names: Collection[str]) -> DataFrame:
    return _jvm.rows_of_files(spark, snapshot, _name().isin(sorted(names)))
