"""What a table declares fits its columns: their types, its row filter and its masks."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from penstock.analysis.catalog import readable_schema, spark_schema
from penstock.errors import DefinitionError
from penstock.graph.elements import Table
from penstock.graph.protection import protection_properties, stored_protection
from penstock.graph.resolved import ROWS_AS_QUERIED, ResolvedFlow
from penstock.graph.schema import Schema
from penstock.spark.delta.conform import check_conforms
from penstock.spark.delta.protection import protect
from penstock.spark.failures.translate import reason_of
from penstock.spark.plans.inspection import empty_relation


def check_types(spark: SparkSession, table: Table, flows: Iterable[ResolvedFlow], declared: Schema) -> None:
    """Checks the columns of each flow whose rows are cast to those of the table.

    Raises:
        DefinitionError: COLUMN_TYPE_NOT_CASTABLE.
    """
    for flow in flows:
        if flow.type not in ROWS_AS_QUERIED:
            continue
        try:
            check_conforms(spark, spark_schema(flow.schema), declared)
        except AnalysisException as error:
            raise DefinitionError(
                "COLUMN_TYPE_NOT_CASTABLE",
                location=flow.declaration.location,
                dataset=str(table.identifier),
                flow=flow.declaration.name,
                name=table.identifier,
                reason=reason_of(error),
            ) from None


def check_protection(spark: SparkSession, table: Table, schema: Schema) -> None:
    """Analyses the view that readers of `table` would get.

    Raises:
        DefinitionError: TABLE_PROTECTION_INVALID: a function or column does not exist, a filter is no condition.
    """
    protection = stored_protection(protection_properties(table.row_filter, table.masks))
    if protection is None:
        return
    try:
        protect(empty_relation(spark, readable_schema(schema), streaming=False), protection)
    except PySparkException as error:
        name = table.identifier
        raise DefinitionError(
            "TABLE_PROTECTION_INVALID", location=table.location, dataset=str(name), name=name, reason=reason_of(error)
        ) from None
