"""The rows of Delta tables, as a test writes and reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.storage import Storage
from penstock.storage.cell_values import python_rows
from penstock.storage.delta_table import all_rows, open_delta_table
from penstock.testing.row_values import with_zones


def write_rows(spark: SparkSession, path: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Creates a table of these rows, with the columns and types that they have; moments without a zone are UTC."""
    plain = [with_zones(row) for row in rows]
    spark.createDataFrame(pa.Table.from_pylist(plain)).write.format("delta").save(path)


def read_rows(path: str) -> list[dict[str, Any]]:
    """Returns the rows of a table as `python_rows` does; none when it does not exist. Moments are in UTC."""
    if not Storage(path).exists("_delta_log"):
        return []
    return python_rows(all_rows(open_delta_table(path)))
