"""The rows that a streaming query drops because they come behind its watermark, found in what the operator is given.

Spark compares a row with the watermark that the batch before left: an aggregation by the end of its window, other
operators by its event time. The query up to the operator gives the rows; the same comparison, those that are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
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

from penstock.graph import late_rows as names
from penstock.spark import _jvm
from penstock.spark.plans import stateful_name
from penstock.spark.quick_append import commit_lock
from penstock.spark.row_origin import ORIGIN_TYPE, row_origin
from penstock.spark.writes import append_to_table

_DELAY = "spark.watermarkDelayMs"  # in the metadata of an event-time column, and of its windows
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


class LateRowsUnknown(Exception):
    """Which rows an operator drops cannot be found out; the text says why."""


def late_rows(frame: DataFrame, *, watermark_ms: int, flow: str, batch_id: int) -> DataFrame:
    """Returns the rows that the streaming query `frame` drops as late, with all that is known of each.

    They have the columns that the operator is given, a window's among them: a row that is late for two windows comes
    twice. `watermark_ms` is the one that the batch before left.

    Raises:
        LateRowsUnknown: no single operator takes all rows first.
    """
    operator = _first_operator(_jvm.without_ctes(frame))
    name, children = str(stateful_name(operator)), _jvm.scala_seq(operator.children())
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
    event_time: int | None
    deciding: int | None

    @classmethod
    def of(cls, query: DataFrame, plan: Any, operator: Any | None) -> _Given:
        """`operator` decides by what it groups by, if it does; None, and others, by the first event time."""
        frame = _jvm.frame_of(query.sparkSession, plan)
        output = _jvm.scala_seq(plan.output())
        timed = [at for at, each in enumerate(output) if each.metadata().contains(_DELAY)]
        deciding = timed[0] if timed else None
        if operator is not None and operator.getClass().getSimpleName() == "Aggregate":
            groups = {_id(each) for each in _jvm.scala_seq(operator.groupingExpressions()) if _is_timed(each)}
            deciding = next((at for at in timed if _id(output[at]) in groups), None)
        schema = frame.schema
        event_time = next((at for at in timed if not isinstance(schema[at].dataType, StructType)), None)
        return cls(frame, _origin(frame), schema, event_time, deciding)

    def columns(self, taken: dict[str, DataType]) -> dict[int, str]:
        """Names the columns that are kept; one that is `taken` is shared where its type is the same."""
        kept = [at for at, each in enumerate(self.schema) if not each.name.casefold().startswith(names.RESERVED_PREFIX)]
        shared = {at for at in kept if taken.get(self.schema[at].name.casefold()) == self.schema[at].dataType}
        others = [at for at in kept if at not in shared]
        renamed = names.stored_names([self.schema[at].name for at in others], taken)
        return {**{at: self.schema[at].name for at in shared}, **dict(zip(others, renamed, strict=True))}

    def late(self, watermark_ms: int, known: dict[str, Column], columns: dict[int, str]) -> DataFrame:
        """Returns the rows that the operator drops, in `columns` and those of late rows."""
        numbered = [f"c{at}" for at in range(len(self.schema))]  # names may repeat
        origin = sf.lit(None) if self.origin is None else self.origin
        rows = self.frame.select("*", origin.cast(ORIGIN_TYPE).alias("origin")).toDF(*numbered, "origin")
        known = {**known, names.SOURCE: sf.col("origin"), names.TIME: sf.current_timestamp()}
        if self.event_time is not None:
            known[names.EVENT_TIME] = sf.col(numbered[self.event_time])
        late = sf.lit(False)
        if self.deciding is not None:
            deciding, kind = sf.col(numbered[self.deciding]), self.schema[self.deciding].dataType
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


@dataclass(frozen=True, slots=True)
class LateRowsWriter:
    """Writes the late rows of one batch to `path`, once per `transaction` (app id, version).

    `create` makes the table for rows of such columns, unless it is there; it is called before the first row is written,
    and not for a batch without late rows.
    """

    path: str
    transaction: tuple[str, int]
    create: Callable[[StructType], None]
    _written: list[int] = field(default_factory=list)
    _failures: list[Exception] = field(default_factory=list)

    @property
    def written(self) -> int:
        """How many rows the batch had."""
        return sum(self._written)

    @property
    def failure(self) -> Exception | None:
        """Why the batch failed, if a write did: Spark itself only keeps the text."""
        return self._failures[-1] if self._failures else None

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
            self._written.append(count)
        except Exception as error:
            self._failures.append(error)
            raise
        finally:
            _jvm.release(held)


def _first_operator(plan: Any) -> Any:
    """Returns the operator with state that stands before all others, and takes the rows of all sources."""
    found = list(_innermost(plan))
    if len(found) != 1:
        told = ", ".join(str(stateful_name(each)) for each in found)
        raise LateRowsUnknown(f"operators with state stand side by side: {told}" if found else "it keeps no state")
    [operator] = found
    if _streams(operator) != _streams(plan):
        raise LateRowsUnknown(f"some of its streams do not go through the {stateful_name(operator)}")
    return operator


def _innermost(plan: Any) -> Iterator[Any]:
    below = [found for child in _jvm.scala_seq(plan.children()) for found in _innermost(child)]
    if below:
        yield from below
    elif stateful_name(plan) is not None:
        yield plan


def _streams(plan: Any) -> int:
    children: Sequence[Any] = _jvm.scala_seq(plan.children())
    return sum(map(_streams, children)) if children else int(bool(plan.isStreaming()))


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


def _is_timed(expression: Any) -> bool:
    return expression.getClass().getSimpleName() == "AttributeReference" and bool(
        expression.metadata().contains(_DELAY)
    )


def _id(named: Any) -> str:
    return str(named.exprId().id())
