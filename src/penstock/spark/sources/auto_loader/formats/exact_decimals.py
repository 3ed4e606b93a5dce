"""DECIMAL columns of texts: Spark rounds a number to the scale of its column, and does not report it.

So numbers are parsed with all the digits that a DECIMAL has room for; what becomes of them in their column is seen.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructField, StructType

from penstock.graph.sql_names import literal
from penstock.spark.sources.auto_loader.schema.sql_text import column, type_ddl

_MOST_DIGITS: Final = 38


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
