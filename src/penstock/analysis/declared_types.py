"""The values of a query can be cast to the types that the schema of its table declares."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from penstock.analysis.catalog import spark_schema
from penstock.errors import DefinitionError
from penstock.graph.elements import Table
from penstock.graph.resolved import ROWS_AS_QUERIED, ResolvedFlow
from penstock.graph.schema import Schema
from penstock.spark.delta.conform import check_conforms
from penstock.spark.failures.translate import reason_of


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
