"""The windows to which late rows belong."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from penstock.graph import late_rows as names
from penstock.graph.sql_names import literal, quoted
from penstock.spark.plans.grouping import WindowColumn

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class LateWindows:
    """How many late rows there are in how many windows, as SQL: the windows' rows `in_table`, and these late rows."""

    windows: int
    rows: int
    in_table: str
    in_late_rows: str


def late_windows(spark: SparkSession, path: str, column: WindowColumn, *, flow: str) -> LateWindows | None:
    """Returns the windows of the late rows at `path` that `flow` has dropped; None when the rows do not show them.

    `column` is that of the window in the flow's query.
    """
    rows = spark.read.format("delta").load(path)
    kinds = {field.name.casefold(): field.dataType for field in rows.schema}
    kind = kinds.get(column.given.casefold())
    if not isinstance(kind, StructType) or column.bound not in kind.names:
        return None
    bound = f"{quoted(column.given)}.{quoted(column.bound)}"
    mine = f"{quoted(names.FLOW)} = {literal(flow)} AND {bound} IS NOT NULL"
    # Whole numbers, because Python's times would come in the zone of this machine.
    number = sf.expr(f"unix_micros({bound})").alias("number")
    found = rows.where(mine).groupBy(number).count().orderBy("number").collect()
    times = ", ".join(_written(row["number"]) for row in found) or "NULL"
    own = quoted(column.name) + (f".{quoted(column.bound)}" if column.whole else "")
    return LateWindows(
        len(found), sum(row["count"] for row in found), f"{own} IN ({times})", f"{mine} AND {bound} IN ({times})"
    )


def _written(microseconds: int) -> str:
    time = _EPOCH + timedelta(microseconds=microseconds)
    return f"TIMESTAMP '{time.replace(tzinfo=None).isoformat(sep=' ')}Z'"
