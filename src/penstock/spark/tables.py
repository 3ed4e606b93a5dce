"""Creates, empties and alters Delta tables; each in one commit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from delta.tables import DeltaTable, DeltaTableBuilder
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from penstock.graph.elements import Table
from penstock.graph.schema import Schema


def create_table(
    spark: SparkSession, table: Table, *, path: str, schema: Schema, properties: Mapping[str, str]
) -> None:
    """Creates the table without rows; an existing one is left as it is.

    Raises:
        AnalysisException, Py4JJavaError: what Delta says of schema, properties or path.
    """
    _define(DeltaTable.createIfNotExists(spark), table, path, schema, properties)


def reset_table(spark: SparkSession, table: Table, *, path: str, schema: Schema, properties: Mapping[str, str]) -> None:
    """Replaces the table by an empty one with this schema and these properties, in one commit.

    Readers of older versions are not disturbed; nothing is deleted from the disk.
    """
    _define(DeltaTable.replace(spark), table, path, schema, properties)


def alter_table(spark: SparkSession, *, path: str, properties: Mapping[str, str]) -> None:
    """Sets properties of an existing table, in one commit."""
    listed = ", ".join(f"{_literal(name)} = {_literal(value)}" for name, value in properties.items())
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ({listed})")


def _define(builder: DeltaTableBuilder, table: Table, path: str, schema: Schema, properties: Mapping[str, str]) -> None:
    builder = builder.location(path).addColumns(StructType.fromJson(json.loads(schema.json)))
    if table.partition_columns:
        builder = builder.partitionedBy(*table.partition_columns)
    if table.cluster_by:
        builder = builder.clusterBy(*table.cluster_by)
    if table.comment:
        builder = builder.comment(table.comment)
    for name, value in properties.items():
        builder = builder.property(name, str(value))
    builder.execute()


def _literal(text: Any) -> str:
    return "'" + str(text).replace("\\", "\\\\").replace("'", "\\'") + "'"
