"""Row filters and masks fit the columns of their table."""

from __future__ import annotations

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.analysis.catalog import readable_schema
from penstock.errors import DefinitionError
from penstock.graph.elements import Table
from penstock.graph.protection import protection_properties, stored_protection
from penstock.graph.schema import Schema
from penstock.spark.delta.protection import protect
from penstock.spark.failures.translate import reason_of
from penstock.spark.plans.inspection import empty_relation


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
