"""What a table needs so that Delta can store the columns of its flows, and what must fit these columns."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from penstock.analysis.catalog import readable_schema
from penstock.graph.elements import COLUMN_MAPPING, MaterializedView, StreamingTable, Table
from penstock.graph.protection import protection_properties, stored_protection
from penstock.graph.resolved import ROWS_AS_QUERIED, ResolvedFlow
from penstock.graph.schema.table_schema import GENERATION_EXPRESSION, Schema
from penstock.graph.sql.names import name_parts, names_to_map, quoted
from penstock.spark.delta.conform import check_conforms, spark_schema
from penstock.spark.delta.protection import protect
from penstock.spark.failures.causes import reason_of
from penstock.spark.plans.inspection import empty_relation


# `cluster_by=["`unit.price`"]`: a name with a dot is that of a field, unless a column has it.
def with_cluster_columns(table: StreamingTable | MaterializedView, schema: Schema) -> StreamingTable | MaterializedView:
    """Returns the table with each column of `cluster_by` spelt so that its dots separate the fields of structs.

    A column can be given with backquotes or without; what names no column stays as it is written.
    """
    known = {name.casefold() for name in schema.names}

    def spelt(name: str) -> str:
        parts = name_parts(name)
        column = parts[0] if len(parts) == 1 else name
        if column.casefold() not in known:
            return name
        return quoted(column) if {".", "`"} & set(column) else column

    return replace(table, cluster_by=tuple(map(spelt, table.cluster_by))) if table.cluster_by else table


# `partition_cols=["window.start"]`: Delta partitions by columns, and a field of a struct is none.
def with_partition_fields(
    table: StreamingTable | MaterializedView, schema: Schema
) -> tuple[StreamingTable | MaterializedView, Schema]:
    """Returns the table partitioned by columns, and its schema with a generated column for each field among them.

    `window.start` becomes `window_start`, which Delta computes, and by which it leaves out files when a reader filters
    by the field. A column of that name that the query has itself is taken as it is. What is no field stays as it is
    written.
    """
    if not table.partition_columns:
        return table, schema
    known = {name.casefold() for name in schema.names}
    columns: list[str] = []
    added: list[dict[str, Any]] = []
    for name in table.partition_columns:
        found = None if name.casefold() in known else schema.field(name.split("."))
        if found is None or not isinstance(found[1], str):
            columns.append(name)
            continue
        path, kind = found
        columns.append("_".join(path))
        if columns[-1].casefold() not in known:
            metadata = {GENERATION_EXPRESSION: ".".join(quoted(part) for part in path)}
            added.append({"name": columns[-1], "type": kind, "nullable": True, "metadata": metadata})
    decided = replace(table, partition_columns=tuple(columns))
    if not added:
        return decided, schema
    wider = {"type": "struct", "fields": [*schema.fields, *added]}
    return decided, Schema(json.dumps(wider, separators=(",", ":"), sort_keys=True))


# Delta stores a column with blanks or punctuation in its name when column mapping by name is on.
def with_column_mapping(
    table: StreamingTable | MaterializedView, flows: Iterable[ResolvedFlow]
) -> StreamingTable | MaterializedView:
    """Returns the table with column mapping where a column needs it, such as the `sum(amount)` of an aggregation.

    What the author has said of it stays. Without need there is none: not every reader of Delta tables knows it.
    """
    if COLUMN_MAPPING in table.table_properties or not any(mapped_names(flow) for flow in flows):
        return table
    return replace(table, table_properties={**table.table_properties, COLUMN_MAPPING: "name"})


def mapped_names(flow: ResolvedFlow) -> list[str]:
    """Returns the names of columns, and of fields in them, that Delta stores only by column mapping.

    Of change events all columns count, because an event that cannot be applied is stored whole, in quarantine.
    """
    return names_to_map(json.loads(flow.rows.json))


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
            raise flow.declaration.error(
                "COLUMN_TYPE_NOT_CASTABLE",
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
        raise table.error("TABLE_PROTECTION_INVALID", name=table.identifier, reason=reason_of(error)) from None
