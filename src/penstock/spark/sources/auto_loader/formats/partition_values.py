"""Partition columns: their values are text in the path, and are cast like any other value of a file."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from penstock.graph.sql_names import literal
from penstock.spark.sources.auto_loader.formats.exact_decimals import exact, is_rounded, rounded
from penstock.spark.sources.auto_loader.options.read_options import AutoLoaderOptions
from penstock.spark.sources.auto_loader.schema.log import SchemaVersion
from penstock.spark.sources.auto_loader.schema.reports import raise_type_mismatch_sql
from penstock.spark.sources.auto_loader.schema.sql_text import column, type_ddl, with_file_path
from penstock.spark.sources.auto_loader.schema.widening import stop_at_wider

_FILE = "input_file_name()"


def with_text_partitions(version: SchemaVersion) -> SchemaVersion:
    """Returns `version` with strings as partition columns: Spark fails a whole stream at a value that does not fit."""
    partitions = [StructField(field.name, StringType()) for field in version.partitions.fields]
    return replace(version, partitions=StructType(partitions))


def typed_partitions(
    rows: DataFrame, version: SchemaVersion, options: AutoLoaderOptions, source_name: str
) -> DataFrame:
    """Returns `rows`, read under `with_text_partitions`, with the types that `version` has.

    A value that does not fit is NULL, and its text is in the rescued data; without such a column it fails the batch.
    """
    typed = [field for field in version.partitions.fields if not isinstance(field.dataType, StringType)]
    if not typed:
        return rows
    values, mismatches = {}, {}
    for field in typed:
        text, kind = column(field.name), field.dataType
        parsed = f"try_cast({text} AS {type_ddl(exact(kind))})"
        values[field.name] = rounded(parsed, kind)
        loses = is_rounded(parsed, kind) or "false"
        mismatches[field.name] = f"({text} IS NOT NULL AND ({values[field.name]} IS NULL OR {loses}))"
    some = " OR ".join(mismatches.values())
    if options.fails_on_wider:
        stop = stop_at_wider([(field, column(field.name)) for field in typed], source_name, _FILE)
        rows = rows.where(f"CASE WHEN {some} THEN {stop} ELSE true END")
    rescued = options.rescued_column if options.rescued_column in rows.columns else None
    if rescued is None:
        cases = " ".join(
            f"WHEN {mismatches[field.name]} THEN "
            + raise_type_mismatch_sql(source_name, field.name, column(field.name), field.dataType.simpleString(), _FILE)
            for field in typed
        )
        rows = rows.where(f"CASE {cases} ELSE true END")
    else:
        items = ", ".join(
            f"{literal(name)}, IF({mismatch}, {column(name)}, NULL)" for name, mismatch in mismatches.items()
        )
        found = f"to_json(map_filter(map({items}), (k, x) -> x IS NOT NULL))"
        known = column(rescued)
        both = f"concat(substr({found}, 1, length({found}) - 1), ',', substr({known}, 2))"
        values[rescued] = f"CASE WHEN NOT ({some}) THEN {known} WHEN {known} IS NULL THEN "
        values[rescued] += f"{with_file_path(found, _FILE)} ELSE {both} END"
    return rows.selectExpr(*(f"{values.get(name, column(name))} AS {column(name)}" for name in rows.columns))
