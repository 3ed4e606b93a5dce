"""Creates, empties and alters Delta tables, each in one commit; and compares two versions of one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from delta.tables import DeltaTable, DeltaTableBuilder
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from penstock.errors import ConfigError
from penstock.graph.elements import TYPE_WIDENING, Table
from penstock.graph.schema.table_schema import Schema
from penstock.graph.sql.names import literal, name_parts, quoted
from penstock.spark import _jvm
from penstock.spark._jvm import jvm
from penstock.spark.delta.conform import TableColumns, spark_schema
from penstock.storage.delta.log import remove_unfinished_log


def create_table(
    spark: SparkSession, table: Table, *, path: str, schema: Schema, properties: Mapping[str, str]
) -> None:
    """Creates the table without rows; an existing one is left as it is.

    Raises:
        AnalysisException, Py4JJavaError: what Delta says of schema, properties or path.
    """
    with suppress(ConfigError):  # Spark reaches more places than Python does
        remove_unfinished_log(path)
    _define(DeltaTable.createIfNotExists(spark), table, path, schema, properties)


def reset_table(spark: SparkSession, table: Table, *, path: str, schema: Schema, properties: Mapping[str, str]) -> None:
    """Replaces the table by an empty one with this schema and these properties, in one commit.

    Readers of older versions are not disturbed; nothing is deleted from the disk.
    """
    _define(DeltaTable.replace(spark), table, path, schema, properties)


def set_properties(spark: SparkSession, path: str, properties: Mapping[str, str]) -> None:
    """Sets properties of an existing table, in one commit."""
    listed = ", ".join(f"{literal(name)} = {literal(value)}" for name, value in properties.items())
    _alter(spark, path, f"SET TBLPROPERTIES ({listed})")


def add_columns(spark: SparkSession, path: str, columns: Mapping[str, tuple[str, str | None]]) -> None:
    """Adds columns by name, type and comment, in one commit; present rows have NULL there."""
    listed = ", ".join(
        f"{quoted(name)} {kind}" + ("" if comment is None else f" COMMENT {literal(comment)}")
        for name, (kind, comment) in columns.items()
    )
    _alter(spark, path, f"ADD COLUMNS ({listed})")


def widen_column(spark: SparkSession, path: str, column: str, kind: str) -> None:
    """Gives a column a wider type; the table must have `delta.enableTypeWidening`."""
    _alter(spark, path, f"ALTER COLUMN {quoted(column)} TYPE {kind}")


def comment_column(spark: SparkSession, path: str, column: str, comment: str) -> None:
    """Sets the comment of a column."""
    _alter(spark, path, f"ALTER COLUMN {quoted(column)} COMMENT {literal(comment)}")


def allow_null(spark: SparkSession, path: str, column: str) -> None:
    """Ends the NOT NULL of a column; Delta cannot begin one on an existing table."""
    _alter(spark, path, f"ALTER COLUMN {quoted(column)} DROP NOT NULL")


def comment_table(spark: SparkSession, path: str, comment: str) -> None:
    """Sets the comment of a table; an empty one removes it."""
    spark.sql(f"COMMENT ON TABLE {table_at(path)} IS {literal(comment) if comment else 'NULL'}")


def cluster_table(spark: SparkSession, path: str, columns: Sequence[str]) -> None:
    """Sets the columns by which new files are clustered; none ends the clustering."""
    listed = ", ".join(map(_quoted_path, columns))
    _alter(spark, path, f"CLUSTER BY ({listed})" if columns else "CLUSTER BY NONE")


def _alter(spark: SparkSession, path: str, change: str) -> None:
    spark.sql(f"ALTER TABLE {table_at(path)} {change}")


def add_missing_columns(spark: SparkSession, path: str, schema: StructType) -> None:
    """Adds the columns of `schema` that the Delta table at `path` does not have, nested ones too, in one commit.

    Columns with narrower types get wider ones where the table has `delta.enableTypeWidening`.
    """
    table = DeltaTable.forPath(spark, path)
    present = {field.name.casefold(): field.dataType.simpleString() for field in table.toDF().schema}
    differing = [field for field in schema if present.get(field.name.casefold()) != field.dataType.simpleString()]
    if any(field.name.casefold() not in present for field in differing) or (differing and _widens(table)):
        empty = TableColumns(path).align(spark.createDataFrame([], schema))  # Delta does not merge an INT into a BIGINT
        empty.write.format("delta").mode("append").option("mergeSchema", "true").save(path)


def _widens(table: DeltaTable) -> bool:
    [detail] = table.detail().select("properties").collect()
    return str(detail["properties"].get(TYPE_WIDENING, "false")).casefold() == "true"


def _define(builder: DeltaTableBuilder, table: Table, path: str, schema: Schema, properties: Mapping[str, str]) -> None:
    builder = builder.location(path).addColumns(spark_schema(schema))
    if table.partition_columns:
        builder = builder.partitionedBy(*table.partition_columns)
    if table.cluster_by:
        builder = builder.clusterBy(*map(_quoted_path, table.cluster_by))
    if table.comment:
        builder = builder.comment(table.comment)
    for name, value in properties.items():
        builder = builder.property(name, str(value))
    builder.execute()


def _quoted_path(column: str) -> str:
    return ".".join(map(quoted, name_parts(column)))


def table_at(path: str) -> str:
    """Returns how SQL names the Delta table at `path`."""
    return f"delta.{quoted(path)}"


def forget_tables(spark: SparkSession) -> None:
    """Has Delta forget the tables that it has seen: it keeps the state of each for an hour after its last use."""
    jvm(spark).org.apache.spark.sql.delta.DeltaLog.clearCache()


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
