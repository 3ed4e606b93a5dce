"""How late rows come, counted where the rows of a batch pass on their way to the operator that drops late ones.

One `observe()` directly below that operator: what the operator gets is what can be lost, and predicates of the query
still reach the sources, because they stand below. The batch's own watermark for late rows, and whether it is a batch to
count in, is put into the plan by Spark's optimizer when it plans the batch (`RunningBatch`): in the other batches the
optimizer finds nothing left to compute.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import DataType, StructType

from penstock.events.lateness import DELAYS_MS, Lateness
from penstock.graph.unbounded_state import STREAM_JOIN
from penstock.spark import _jvm
from penstock.spark.plans.inspection import drops_late_rows, stateful_name
from penstock.spark.plans.java_columns import binary_search, called_by_optimizer
from penstock.spark.plans.watermarks import DELAY, FirstOperator, LateFilter, LateRowsUnknown, first_operator

_METRIC: Final = "penstock:lateness"
_ROWS, _WINDOW, _LATE, _TIMELESS = "rows", "window", "late", "timeless"
SAMPLED_BATCHES: Final = 17
"""One of so many batches is a sample. A prime, so that what repeats by the hour or the day comes in another place of
each turn.
"""
FIRST_SAMPLES: Final = (1, 2, 4, 8, 16)
"""Samples as well, so that there is something to say soon. Nothing is late in the very first batch."""
_HARMLESS: Final = frozenset(
    {"Project", "SubqueryAlias", "View", "ResolvedHint", "RebalancePartitions", "CollectMetrics", "EventTimeWatermark"}
)
"""Operators that bring no predicate: one from above the operator would not get past the counting to the source."""

_RUNTIME: Final = "org.apache.spark.sql.execution.streaming.runtime"
_METADATA: Final = "org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadataBase"
_HOLDER: Final = "java.util.concurrent.atomic.AtomicReference"
_SUPPLIER: Final = "java.util.function.LongSupplier"
_EXECUTION: Final = f"{_RUNTIME}.IncrementalExecution"
_BATCH: Final = ((_EXECUTION, "currentBatchId"),)
_WATERMARK: Final = (
    (_EXECUTION, "prevOffsetSeqMetadata", "scala.Option"),
    ("scala.Option", "get", "java.lang.Object", _METADATA),
    (_METADATA, "batchWatermarkMs"),
)
"""The methods to call, one after the other: owner, name, what it returns, what that really is; the last one a long."""


@dataclass(frozen=True, slots=True)
class MeasuredLateness:
    """A query that counts how late its rows are. `frame` is to be started, `follow` called with what that gives."""

    frame: DataFrame
    delays_ms: tuple[int, ...]
    delay_ms: int
    _batch: RunningBatch

    def follow(self, query: StreamingQuery) -> None:
        """From its second batch on, the query itself reports its batches."""
        self._batch.follow(query)

    def of(self, progress: Mapping[str, Any]) -> Lateness | None:
        """Returns the lateness of the batch that Spark's `progress` describes.

        None when it was not to be counted, or has read nothing.
        """
        counted = (progress.get("observedMetrics") or {}).get(_METRIC) or {}
        rows = counted.get(_ROWS)
        if rows is None or not (rows or progress.get("numInputRows")):
            return None
        late: dict[int, int] = {}
        for interval in counted.get(_LATE) or ():
            found = round(interval["x"])  # as `binary_search` returns it
            at = self.delays_ms[found if found >= 0 else -2 - found]
            late[at] = late.get(at, 0) + round(interval["y"])
        window = int(counted.get(_WINDOW) or 0) // 1000
        return Lateness(int(rows), self.delay_ms, window, late, int(counted.get(_TIMELESS) or 0))


def measure_lateness(
    frame: DataFrame, *, each_batch: bool, next_batch: int, watermark_ms: int, unknown_up_to_ms: int = -1
) -> MeasuredLateness:
    """Returns the streaming query `frame` with counters, which count in each batch or in samples.

    `watermark_ms` is the one that late rows of the next batch are compared with, 0 for none yet. Batches with a
    watermark of up to `unknown_up_to_ms` are left out: it came from another delay than the query's.

    Raises:
        LateRowsUnknown: how late a row is cannot be computed for this query, or counting would change its plan.
    """
    plan = _jvm.analyzed_plan(frame)
    if "WithCTE" in str(plan):
        raise LateRowsUnknown("its SQL has a WITH, which Spark plans apart")
    first = first_operator(plan)
    _check_above(first)
    if first.name == STREAM_JOIN:
        raise LateRowsUnknown("it joins two streams, and predicates of the join would not get past the counting")
    if not drops_late_rows(first.node):
        raise LateRowsUnknown(f"its {first.name} has no timers of event time, and takes late rows as well")
    rows, *_first_values = _jvm.scala_seq(first.node.children())
    marks = (node for node in _jvm.nodes(first.node) if node.getClass().getSimpleName() == "EventTimeWatermark")
    delays = {_delay(node) for node in marks}
    if len(delays) != 1:
        several = "it has watermarks of several delays"
        raise LateRowsUnknown(several if delays else f"no watermark is declared before its {first.name}")
    [delay_ms] = delays
    place = _place(frame.sparkSession, first, rows)
    batch = RunningBatch.of(frame.sparkSession, first=next_batch, watermark_ms=watermark_ms)
    delays_ms = tuple(sorted({*DELAYS_MS, delay_ms}))
    deciding, window = _micros(place.deciding, place.kind)
    counts = batch.watermark_ms > sf.lit(unknown_up_to_ms)
    if not each_batch:
        often = (batch.number > 0) & (batch.number % SAMPLED_BATCHES == 0)
        counts &= functools.reduce(operator.or_, (batch.number == first for first in FIRST_SAMPLES), often)
    newest = sf.when(batch.watermark_ms > 0, (batch.watermark_ms + delay_ms) * 1000)
    interval = binary_search(frame.sparkSession, [delay * 1000 for delay in delays_ms], newest - deciding)
    late = sf.when(deciding <= newest, interval)
    metrics = {
        _ROWS: sf.count(deciding),
        _TIMELESS: sf.count_if(deciding.isNull()),
        _WINDOW: sf.max(window),
        # It merges intervals only when there are more of them than it may keep; each has two numbers.
        _LATE: sf.histogram_numeric(late, sf.lit(2 * len(delays_ms))),
    }
    # The condition is around the aggregation: where it does not hold, there is none.
    counted = place.given.observe(_METRIC, *(sf.when(counts, each).alias(name) for name, each in metrics.items()))
    return MeasuredLateness(_with_child(counted, place.above), delays_ms, delay_ms, batch)


def _check_above(first: FirstOperator) -> None:
    """Refuses a query whose upper part has predicates that Spark would push below the operator, to the sources."""
    another = next(filter(None, (stateful_name(node) for node, _ in reversed(first.above))), None)
    for node, _ in reversed(first.above):
        name = str(node.nodeName())
        if name == "CollectMetrics":  # no predicate gets past it
            return
        if name not in _HARMLESS and not (name == "Filter" and _stays_above(node, first.node)):
            if another is not None:
                raise LateRowsUnknown(f"it has several operators with state: {first.name}, then {another}")
            raise LateRowsUnknown(f"predicates of the {name} after its {first.name} would not get past the counting")


def _stays_above(filtering: Any, operator: Any) -> bool:
    """Whether a filter refers to nothing but results of an aggregation: it, and what follows from it, stays above."""
    if operator.getClass().getSimpleName() != "Aggregate":
        return False
    results = {
        _jvm.id_of(each)
        for each in _jvm.scala_seq(operator.aggregateExpressions())
        if each.getClass().getSimpleName() == "Alias"
        and each.child().getClass().getSimpleName() == "AggregateExpression"
    }
    used = filtering.references().iterator()
    while used.hasNext():
        if _jvm.id_of(used.next()) not in results:
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Place:
    """Where to count: what is `given` there, the time or window that decides about a row, and the nodes `above`."""

    given: DataFrame
    deciding: Column
    kind: DataType
    above: tuple[tuple[Any, int], ...]


def _place(spark: SparkSession, first: FirstOperator, below: Any) -> _Place:
    """Finds the place right below the operator, or, with the same rows, below the projection that makes its windows.

    Counting would part the generated code of such a projection from that of the aggregation, which takes far longer.
    """
    output, schema = _jvm.scala_seq(below.output()), _jvm.frame_of(spark, below).schema
    position = LateFilter.of(output, schema, first.node).deciding
    if position is None:
        raise LateRowsUnknown(f"the {first.name} does not go by event time")
    above, deciding, kind = (*first.above, (first.node, 0)), output[position], schema[position].dataType
    window = _projected(below, deciding)
    if window is not None and _drops_only_null(times := below.child(), window):
        above, deciding, below = (*above, (below, 0), (times, 0)), window, times.child()
    return _Place(_jvm.frame_of(spark, below), _jvm.column_of(spark, deciding), kind, above)


def _projected(node: Any, column: Any) -> Any | None:
    """Returns the expression that a projection computes as `column`; None for other nodes and columns."""
    for each in _jvm.scala_seq(node.projectList()) if node.getClass().getSimpleName() == "Project" else ():
        if each.getClass().getSimpleName() == "Alias" and each.exprId().id() == column.exprId().id():
            return each.child()
    return None


def _drops_only_null(node: Any, computed: Any) -> bool:
    """Whether a node does nothing but drop rows for which `computed` has nothing to compute."""
    if node.getClass().getSimpleName() != "Filter" or node.condition().getClass().getSimpleName() != "IsNotNull":
        return False
    return bool(node.condition().references().subsetOf(computed.references()))


def _micros(deciding: Column, kind: DataType) -> tuple[Column, Column]:
    """Returns the microseconds of the time that decides about a row, and of the length of its window."""
    if not isinstance(kind, StructType):
        return sf.unix_micros(deciding), sf.lit(0)
    start, end = (sf.unix_micros(deciding.getField(each.name)) for each in kind)
    return end, end - start


def _with_child(counted: DataFrame, above: tuple[tuple[Any, int], ...]) -> DataFrame:
    """Returns the whole query, with `counted` for the child of the lowest node of `above`."""
    spark, plan = counted.sparkSession, _jvm.analyzed_plan(counted)
    for node, position in reversed(above):
        children = _jvm.scala_seq(node.children())
        plan = _jvm.with_children(spark, node, [*children[:position], plan, *children[position + 1 :]])
    return _jvm.frame_of(spark, plan)


def _delay(node: Any) -> int:
    """The delay that an `EventTimeWatermark` gives its column."""
    columns = (each.metadata() for each in _jvm.scala_seq(node.output()))
    return next(int(metadata.getLong(DELAY)) for metadata in columns if metadata.contains(DELAY))


@dataclass(frozen=True, slots=True)
class RunningBatch:
    """Columns that are the same for all rows of a batch.

    `number` is the batch's own, `watermark_ms` the watermark that its late rows are compared with, in milliseconds.
    """

    number: Column
    watermark_ms: Column
    _holder: Any

    @classmethod
    def of(cls, spark: SparkSession, *, first: int, watermark_ms: int) -> RunningBatch:
        """`first` and `watermark_ms` are those of the first batch of a query that is about to start."""
        holder = _jvm.jvm(spark).java.util.concurrent.atomic.AtomicReference()
        number, watermark = (
            called_by_optimizer(spark, _asking(spark, holder, question, known), _SUPPLIER, "getAsLong")
            for question, known in ((_BATCH, first), (_WATERMARK, watermark_ms))
        )
        return cls(number, watermark, holder)

    def follow(self, query: StreamingQuery) -> None:
        """Asks the query from now on."""
        self._holder.set(query._jsq.streamingQuery())


def _asking(spark: SparkSession, holder: Any, question: tuple[tuple[str, ...], ...], known: int) -> Any:
    """Returns a Java `LongSupplier`: what a query in `holder` says, or `known` while it says nothing."""
    java = _jvm.jvm(spark)
    handles, failure = java.java.lang.invoke.MethodHandles, _known(java, "java.lang.Throwable")
    handle = handles.filterReturnValue(handles.constant(_known(java, _HOLDER), holder), _question(java, question))
    first = handles.constant(java.java.lang.Long.TYPE, known)
    first = handles.dropArguments(first, 0, _jvm.array_of(spark, "java.lang.Class", failure))
    safe = handles.catchException(handle, failure, first)
    return java.java.lang.invoke.MethodHandleProxies.asInterfaceInstance(_known(java, _SUPPLIER), safe)


@functools.cache
def _question(java: Any, question: tuple[tuple[str, ...], ...]) -> Any:
    """Returns the method handle from a holder to a number of its query's batch; it throws when there is none."""
    handles, types = java.java.lang.invoke.MethodHandles, java.java.lang.invoke.MethodType
    lookup, held = handles.publicLookup(), _known(java, _HOLDER)
    handle = handles.identity(held)
    query = f"{_RUNTIME}.StreamExecution"
    steps = ((_HOLDER, "get", "java.lang.Object", query), (query, "lastExecution", _EXECUTION), *question)
    for owner, method, *answers in steps:
        answer = _known(java, answers[0]) if answers else java.java.lang.Long.TYPE
        step = lookup.findVirtual(_known(java, owner), method, types.methodType(answer))
        if len(answers) > 1:
            step = step.asType(types.methodType(_known(java, answers[1]), _known(java, owner)))
        handle = handles.filterReturnValue(handle, step)
    return handle


def _known(java: Any, name: str) -> Any:
    return java.java.lang.Class.forName(name)
