"""How late rows come, counted where the rows of a batch pass on their way to the operator that drops late ones.

One `observe()` directly below that operator: what the operator gets is what can be lost, and predicates of the query
still reach the sources, because they stand below. The batch's own watermark for late rows, which a query cannot ask
for, is put into the plan by Spark's optimizer when it plans the batch (`LateWatermark`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from penstock.events.lateness import DELAYS_MS, Lateness
from penstock.spark import _jvm
from penstock.spark.late_filter import DELAY, FirstOperator, LateFilter, LateRowsUnknown, first_operator
from penstock.spark.late_watermark import LateWatermark

_METRIC: Final = "penstock:lateness"
_ROWS, _WINDOW, _LATE = "rows", "window", "late"
_HARMLESS: Final = frozenset(
    {"Project", "SubqueryAlias", "View", "ResolvedHint", "RebalancePartitions", "CollectMetrics", "EventTimeWatermark"}
)
"""Operators that bring no predicate: one from above the operator would not get past the counting to the source."""


@dataclass(frozen=True, slots=True)
class MeasuredLateness:
    """A query that counts how late its rows are. `frame` is to be started, `follow` called with what that gives."""

    frame: DataFrame
    delays_ms: tuple[int, ...]
    delay_ms: int
    _watermark: LateWatermark

    def follow(self, query: StreamingQuery) -> None:
        """From its second batch on, the query's own watermark is what rows are compared with."""
        self._watermark.follow(query)

    def of(self, progress: Mapping[str, Any]) -> Lateness | None:
        """Returns the lateness of the batch that Spark's `progress` tells of; None when there were no rows to count."""
        counted = (progress.get("observedMetrics") or {}).get(_METRIC)
        if not counted or not counted.get(_ROWS):
            return None
        late: dict[int, int] = {}
        for interval in counted.get(_LATE) or ():
            at = self.delays_ms[round(interval["x"])]
            late[at] = late.get(at, 0) + round(interval["y"])
        window = int(counted.get(_WINDOW) or 0) // 1000
        return Lateness(int(counted[_ROWS]), self.delay_ms, window, late)


def measure_lateness(frame: DataFrame, *, watermark_ms: int, unknown_up_to_ms: int = -1) -> MeasuredLateness:
    """Returns the streaming query `frame` with counters.

    `watermark_ms` is the one that late rows of the next batch are compared with, 0 for none yet. Batches with a
    watermark of up to `unknown_up_to_ms` are left out: it came from another delay than the query's.

    Raises:
        LateRowsUnknown: how late a row is cannot be told of this query, or counting would change its plan.
    """
    plan = _jvm.analyzed_plan(frame)
    first = first_operator(plan)
    _check_above(first)
    children = _jvm.scala_seq(first.node.children())
    if len(children) != 1:
        raise LateRowsUnknown("predicates of a join go to its sources, and would not get past the counting")
    delays = {_delay(node) for node in _watermarks(first.node)}
    if len(delays) != 1:
        raise LateRowsUnknown("it has watermarks of several delays" if delays else "it has no watermark")
    [delay_ms] = delays
    given = _jvm.frame_of(frame.sparkSession, children[0])
    output, schema = _jvm.scala_seq(children[0].output()), given.schema
    position = LateFilter.of(output, schema, first.node).deciding
    if position is None:
        raise LateRowsUnknown(f"the {first.name} does not go by event time")
    watermark = LateWatermark.of(frame.sparkSession, watermark_ms)
    delays_ms = tuple(sorted({*DELAYS_MS, delay_ms}))
    deciding, window = _deciding(_jvm.column_of(frame.sparkSession, output[position]), schema, position)
    known = watermark.column > sf.lit(unknown_up_to_ms)
    newest = sf.when(known & (watermark.column > 0), (watermark.column + delay_ms) * 1000)
    counted = given.observe(
        _METRIC,
        sf.count(sf.when(known, deciding)).alias(_ROWS),
        sf.max(window).alias(_WINDOW),
        # It merges intervals only when there are more of them than it may keep.
        sf.histogram_numeric(_interval(deciding, newest, delays_ms), sf.lit(2 * len(delays_ms))).alias(_LATE),
    )
    return MeasuredLateness(_in_place_of(first, counted), delays_ms, delay_ms, watermark)


def _check_above(first: FirstOperator) -> None:
    """Refuses a query whose upper part has predicates that Spark would push below the operator, to the sources."""
    for node, _ in reversed(first.above):
        name = str(node.nodeName())
        if name == "CollectMetrics":  # no predicate gets past it
            return
        if name not in _HARMLESS and not (name == "Filter" and _stays_above(node, first.node)):
            raise LateRowsUnknown(f"predicates of the {name} above go to the sources, and would not get past counting")


def _stays_above(filtering: Any, operator: Any) -> bool:
    """Whether a filter refers to nothing but results of an aggregation: it, and what follows from it, stays above."""
    if operator.getClass().getSimpleName() != "Aggregate":
        return False
    results = {
        str(each.exprId().id())
        for each in _jvm.scala_seq(operator.aggregateExpressions())
        if each.getClass().getSimpleName() == "Alias"
        and each.child().getClass().getSimpleName() == "AggregateExpression"
    }
    used = filtering.references().iterator()
    while used.hasNext():
        if str(used.next().exprId().id()) not in results:
            return False
    return True


def _deciding(column: Column, schema: StructType, position: int) -> tuple[Column, Column]:
    """Returns the microseconds of the time that decides about a row, and of the length of its window."""
    kind = schema[position].dataType
    if not isinstance(kind, StructType):
        return sf.unix_micros(column), sf.lit(0)
    start, end = (sf.unix_micros(column.getField(each.name)) for each in kind)
    return end, end - start


def _interval(time: Column, newest: Column, delays_ms: Sequence[int]) -> Column:
    """Returns the position in `delays_ms` of the last delay with which a row of that time is dropped; NULL for none."""

    def among(low: int, high: int) -> Column:
        if high - low == 1:
            return sf.lit(low)
        middle = (low + high) // 2
        dropped = time <= newest - delays_ms[middle] * 1000
        return sf.when(dropped, among(middle, high)).otherwise(among(low, middle))

    return sf.when(time <= newest, among(0, len(delays_ms)))


def _in_place_of(first: FirstOperator, counted: DataFrame) -> DataFrame:
    """Returns the whole query with what the operator is given counted."""
    spark = counted.sparkSession
    plan = _jvm.with_children(spark, first.node, [_jvm.analyzed_plan(counted)])
    for node, position in reversed(first.above):
        children = _jvm.scala_seq(node.children())
        plan = _jvm.with_children(spark, node, [*children[:position], plan, *children[position + 1 :]])
    return _jvm.frame_of(spark, plan)


def _watermarks(plan: Any) -> Iterator[Any]:
    if plan.getClass().getSimpleName() == "EventTimeWatermark":
        yield plan
    for child in _jvm.scala_seq(plan.children()):
        yield from _watermarks(child)


def _delay(node: Any) -> int:
    return next(int(each.metadata().getLong(DELAY)) for each in _jvm.scala_seq(node.output()) if _is_of(each))


def _is_of(column: Any) -> bool:
    return bool(column.metadata().contains(DELAY))
