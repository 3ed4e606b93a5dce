"""The rows that a streaming query drops because they come behind its watermark, found in what the operator is given.

The query up to the operator gives the rows; the comparison that Spark makes (`LateFilter`), those that are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import (
    CalendarIntervalType,
    DataType,
    DayTimeIntervalType,
    NullType,
    StructType,
    TimestampNTZType,
    YearMonthIntervalType,
)

from penstock.graph.companions import late_rows as names
from penstock.graph.sql.names import literal, quoted
from penstock.spark import _jvm
from penstock.spark.delta.quick_append import commit_lock
from penstock.spark.plans.grouping import WindowColumn
from penstock.spark.plans.row_origin import ORIGIN_TYPE, row_origin
from penstock.spark.plans.watermarks import LateFilter, first_operator
from penstock.spark.streams.writes import append_to_table

_NOT_STORED = (NullType, CalendarIntervalType, DayTimeIntervalType, YearMonthIntervalType)  # by Delta
_OWN = {
    names.EVENT_TIME: "timestamp",
    names.WATERMARK: "timestamp",
    names.SECONDS: "double",
    names.OPERATOR: "string",
    names.FLOW: "string",
    names.BATCH: "bigint",
    names.TIME: "timestamp",
    names.SOURCE: ORIGIN_TYPE,
}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def late_rows(frame: DataFrame, *, watermark_ms: int, flow: str, batch_id: int) -> DataFrame:
    """Returns the rows that the streaming query `frame` drops as late, with all that is known of each.

    They have the columns that the operator is given, a window's among them: a row that is late for two windows comes
    twice. `watermark_ms` is the one that the batch before left.

    Raises:
        LateRowsUnknown: no single operator takes all rows first.
    """
    first = first_operator(_jvm.without_ctes(frame))
    name, operator, children = first.name, first.node, _jvm.scala_seq(first.node.children())
    known = {names.FLOW: sf.lit(flow), names.BATCH: sf.lit(batch_id)}
    if operator.getClass().getSimpleName() != "Join":
        given = _Given.of(frame, children[0], operator)
        return given.late(watermark_ms, {**known, names.OPERATOR: sf.lit(name)}, given.columns({}))
    left, right = (_Given.of(frame, child, None) for child in children)
    columns = left.columns({})
    taken = {renamed.casefold(): left.schema[at].dataType for at, renamed in columns.items()}
    return left.late(watermark_ms, {**known, names.OPERATOR: sf.lit(f"{name}, left side")}, columns).unionByName(
        right.late(watermark_ms, {**known, names.OPERATOR: sf.lit(f"{name}, right side")}, right.columns(taken)),
        allowMissingColumns=True,
    )


@dataclass(frozen=True, slots=True)
class _Given:
    """What an operator is given: rows, and by their positions the columns of the event time and of what decides."""

    frame: DataFrame
    origin: Column | None
    schema: StructType
    filter: LateFilter

    @classmethod
    def of(cls, query: DataFrame, plan: Any, operator: Any | None) -> _Given:
        """`operator` as for `LateFilter.of`."""
        frame = _jvm.frame_of(query.sparkSession, plan)
        schema = frame.schema
        return cls(frame, _origin(frame), schema, LateFilter.of(_jvm.scala_seq(plan.output()), schema, operator))

    def columns(self, taken: dict[str, DataType]) -> dict[int, str]:
        """Names the columns that are stored; one that is `taken` is shared where its type is the same."""
        stored = [
            at for at, each in enumerate(self.schema) if not each.name.casefold().startswith(names.RESERVED_PREFIX)
        ]
        shared = {at for at in stored if taken.get(self.schema[at].name.casefold()) == self.schema[at].dataType}
        others = [at for at in stored if at not in shared]
        renamed = names.stored_names([self.schema[at].name for at in others], taken)
        return {**{at: self.schema[at].name for at in shared}, **dict(zip(others, renamed, strict=True))}

    def late(self, watermark_ms: int, known: dict[str, Column], columns: dict[int, str]) -> DataFrame:
        """Returns the rows that the operator drops, in `columns` and those of late rows."""
        numbered = [f"c{at}" for at in range(len(self.schema))]  # names may repeat
        origin = sf.lit(None) if self.origin is None else self.origin
        rows = self.frame.select("*", origin.cast(ORIGIN_TYPE).alias("origin")).toDF(*numbered, "origin")
        known = {**known, names.SOURCE: sf.col("origin"), names.TIME: sf.current_timestamp()}
        if self.filter.event_time is not None:
            known[names.EVENT_TIME] = sf.col(numbered[self.filter.event_time])
        late = sf.lit(False)
        if self.filter.deciding is not None:
            deciding, kind = sf.col(numbered[self.filter.deciding]), self.schema[self.filter.deciding].dataType
            if isinstance(kind, StructType):  # a window: Spark compares its second field, the end
                deciding, kind = deciding.getField(kind[1].name), kind[1].dataType
            mark = _instant(watermark_ms, kind)
            late = deciding <= mark
            known[names.WATERMARK] = mark
            known[names.SECONDS] = sf.timestamp_diff("MICROSECOND", deciding, mark) / 1e6
        own = [known.get(name, sf.lit(None)).cast(kind).alias(name, metadata={}) for name, kind in _OWN.items()]
        data = [
            _stored(sf.col(numbered[at]), self.schema[at].dataType).alias(columns[at], metadata={}) for at in columns
        ]
        return rows.where(late).select(*data, *own)


@dataclass(slots=True)
class LateRowsWriter:
    """Writes the late rows of one batch to `path`, once per `transaction` (app id, version).

    `create` makes the table for rows of such columns, unless it is there; it is called before the first row is written,
    and not for a batch without late rows. `written` is how many rows the batch had; `failure` why the batch failed, if
    a write did: Spark itself only keeps the text.
    """

    path: str
    transaction: tuple[str, int]
    create: Callable[[StructType], None]
    written: int = 0
    failure: Exception | None = None

    def start(self, writer: DataStreamWriter) -> StreamingQuery:
        """Starts the query."""
        return writer.outputMode("append").foreachBatch(self._write).start()

    def _write(self, rows: DataFrame, _batch: int) -> None:
        held = rows.localCheckpoint(eager=True)
        try:
            count = held.count()
            if count:
                with commit_lock(self.path):  # another flow of the table may have late rows as well
                    self.create(held.schema)
                    append_to_table(held, self.path, self.transaction)
            self.written += count
        except Exception as error:
            self.failure = error
            raise
        finally:
            _jvm.release(held)


def _origin(frame: DataFrame) -> Column | None:
    try:
        return row_origin(frame)
    except AnalysisException:  # several columns of one name
        return None


def _instant(milliseconds: int, kind: DataType) -> Column:
    """Spark takes times without a zone for UTC here."""
    if isinstance(kind, TimestampNTZType):
        text = datetime.fromtimestamp(milliseconds / 1000, UTC).replace(tzinfo=None).isoformat(sep=" ")
        return sf.lit(text).cast("timestamp_ntz")
    return sf.timestamp_millis(sf.lit(milliseconds))


def _stored(column: Column, kind: DataType) -> Column:
    return column.cast("string") if isinstance(kind, _NOT_STORED) else column


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
