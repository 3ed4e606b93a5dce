"""Column lists of tables in DDL: what Spark's parser makes of them, as plain data."""

from __future__ import annotations

import json
from typing import Any

from pyspark.errors import ParseException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from penstock.graph.schema.table_schema import GENERATION_EXPRESSION, IDENTITY
from penstock.spark import _jvm


def parse_columns(spark: SparkSession, ddl: str) -> StructType:
    """Returns the columns of a DDL text; what Delta generates is in their metadata, where Delta looks for it.

    Keys are accepted and left out: Delta does not know them, and nothing enforces them.

    Raises:
        ParseException: Spark's own.
        ValueError: a clause that Delta tables do not have.
    """
    try:
        columns = StructType.fromDDL(ddl)
        if isinstance(columns, StructType):
            return columns
        raise ValueError("it is a type, not a list of columns")
    except ParseException:
        # The parser of schemas knows neither GENERATED nor constraints; that of tables knows no `name: type`.
        plan = _jvm.parse_plan(spark, f"CREATE TABLE declared (\n{ddl}\n) USING delta")
    if plan.getClass().getSimpleName() != "CreateTable":
        raise ValueError("it is more than a list of columns")
    for constraint in _jvm.scala_seq(plan.tableSpec().constraints()):
        if constraint.getClass().getSimpleName() == "CheckConstraint":
            raise ValueError("rows are checked by expectations, not by CHECK")
    return StructType([_field(column) for column in _jvm.scala_seq(plan.columns())])


def _field(column: Any) -> StructField:
    if column.defaultValue().isDefined():
        raise ValueError(f"the column '{column.name()}' has a DEFAULT, but rows are inserted with all of their columns")
    metadata: dict[str, Any] = {}
    if column.comment().isDefined():
        metadata["comment"] = str(column.comment().get())
    if column.generationExpression().isDefined():
        metadata[GENERATION_EXPRESSION] = str(column.generationExpression().get())
    if column.identityColumnSpec().isDefined():
        identity = column.identityColumnSpec().get()
        metadata |= {
            f"{IDENTITY}start": int(identity.getStart()),
            f"{IDENTITY}step": int(identity.getStep()),
            f"{IDENTITY}allowExplicitInsert": bool(identity.isAllowExplicitInsert()),
        }
    return StructField.fromJson(
        {
            "name": str(column.name()),
            "type": json.loads(str(column.dataType().json())),
            "nullable": bool(column.nullable()),
            "metadata": metadata,
        }
    )
