"""Values that come as text, in files and in the names of folders: exact decimals, partition columns.

Spark rounds a number to the scale of its DECIMAL column, and does not report it. So numbers are parsed with all the
digits that a DECIMAL has room for; what becomes of them in their column is seen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StringType, StructField, StructType

from penstock.graph.sql.names import literal
from penstock.spark.sources.auto_loader.options.read_options import AutoLoaderOptions
from penstock.spark.sources.auto_loader.schema.log import SchemaVersion
from penstock.spark.sources.auto_loader.schema.reports import raise_type_mismatch_sql
from penstock.spark.sources.auto_loader.schema.sql_text import column, type_ddl, with_file_path
from penstock.spark.sources.auto_loader.schema.widening import stop_at_wider

_MOST_DIGITS: Final = 38

_FILE = "input_file_name()"


def exact(kind: DataType) -> DataType:
    """Returns `kind` with decimals of 38 digits: as many before the point as now, the others behind it."""
    match kind:
        case DecimalType():
            return DecimalType(_MOST_DIGITS, _MOST_DIGITS - kind.precision + kind.scale)
        case StructType():
            return exact_fields(kind)
        case ArrayType():
            return ArrayType(exact(kind.elementType), kind.containsNull)
        case MapType():
            return MapType(kind.keyType, exact(kind.valueType), kind.valueContainsNull)
        case _:
            return kind


def exact_fields(schema: StructType) -> StructType:
    """Returns `schema` with `exact` types."""
    return StructType(
        [StructField(field.name, exact(field.dataType), field.nullable, field.metadata) for field in schema.fields]
    )


def rounded(value: str, kind: DataType) -> str:
    """Returns SQL for `value`, of the type `exact(kind)`, as `kind`; NULL where the rounded number has no room."""
    return value if exact(kind) == kind else f"try_cast({value} AS {type_ddl(kind)})"


def is_rounded(value: str, kind: DataType) -> str | None:
    """Returns SQL that says whether `value`, of type `exact(kind)`, loses digits as `kind`; None if it never does."""
    if exact(kind) == kind:
        return None
    if isinstance(kind, DecimalType):
        return f"NOT ({value} <=> {rounded(value, kind)})"
    back = f"CAST({rounded(value, kind)} AS {type_ddl(exact(kind))})"
    return f"to_json(struct({value} AS v)) <> to_json(struct({back} AS v))"


def rounded_columns(record: str, schema: StructType) -> str:
    """Returns SQL for the names of the columns that lose digits, of the struct `record` with `exact_fields(schema)`."""
    names = (
        f"IF({loses}, {literal(field.name)}, NULL)"
        for field in schema.fields
        if (loses := is_rounded(f"{record}.{column(field.name)}", field.dataType)) is not None
    )
    return f"array_compact(CAST(array({', '.join(names)}) AS ARRAY<STRING>))"


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
