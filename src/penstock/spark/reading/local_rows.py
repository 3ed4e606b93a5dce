"""Rows of Python values as Spark Connect takes them: on Databricks, pipelines run there, and it converts more types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Row
from pyspark.sql.types import DataType, StructType

_CONVERTED_BY_SPARK = {"numpy", "pandas", "pyarrow", "pyspark"}  # arrays, tables, DataFrames, RDDs
_REFUSALS = (
    *(AssertionError, AttributeError, LookupError, NotImplementedError, OverflowError, TypeError, ValueError),
    PySparkException,
)
"""What PySpark's conversion and Arrow raise for values that do not fit."""


def is_rows(data: Any, schema: Any) -> bool:
    """Whether `data` are rows of Python values whose types a `schema` gives: a DDL string or a type."""
    package = type(data).__module__.partition(".")[0]
    return isinstance(schema, (str, DataType)) and isinstance(data, Iterable) and package not in _CONVERTED_BY_SPARK


def as_connect_takes(rows: list[Any], schema: DataType) -> tuple[pa.Table, StructType] | None:
    """Returns `rows` with their values converted to the types of `schema`, None where Spark Connect refuses them too.

    Numbers, NumPy's too, become numbers of the declared type; integers lose a fraction. Text becomes no date, and only
    a Decimal a decimal.
    """
    from pyspark.sql.conversion import LocalDataToArrowConversion  # loads pandas, which few pipelines need

    struct = schema if isinstance(schema, StructType) else StructType().add("value", schema)
    if rows and not isinstance(rows[0], (Row, tuple, list, dict)) and not hasattr(rows[0], "__dict__"):
        rows = [[each] for each in rows]
    try:
        return LocalDataToArrowConversion.convert(rows, struct, False), struct
    except _REFUSALS:
        return None
