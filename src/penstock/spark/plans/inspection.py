"""Questions about a query's plan that only Spark can answer, and a DISTINCT that can append."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.graph.elements import OutputMode
from penstock.graph.unbounded_state import STREAM_JOIN
from penstock.spark import _jvm

_KEEPING: Final = frozenset(
    {"CollectMetrics", "EventTimeWatermark", "Project", "ResolvedHint", "SubqueryAlias", "Union", "View"}
)
_COUNTED_DUPLICATES: Final = frozenset({"Deduplicate", "DeduplicateWithinWatermark"})
_SOURCES: Final = frozenset({"StreamingRelation", "StreamingRelationV2"})
_COUNTERS: Final = "penstock:"

_DISTINCT = "Distinct"


STATEFUL = {
    "Aggregate": "aggregate",
    "Distinct": "deduplicate",
    "Deduplicate": "deduplicate",
    "DeduplicateWithinWatermark": "deduplicate within watermark",
    "FlatMapGroupsWithState": "flatMapGroupsWithState",
    "FlatMapGroupsInPandasWithState": "applyInPandasWithState",
    "TransformWithState": "transformWithState",
    "TransformWithStateInPandas": "transformWithState",
    "TransformWithStateInPySpark": "transformWithState",
}


_STREAMING_ONLY = STATEFUL.keys() - {"Aggregate", "Distinct", "Deduplicate"}

_SESSION_WINDOW = "spark.sessionWindow"  # in the metadata of its column


def empty_relation(spark: SparkSession, schema: StructType, *, streaming: bool) -> DataFrame:
    """Returns a DataFrame of `schema` with no rows, streaming or batch, that reads no storage.

    It can be analysed and planned but, when streaming, never started.
    """
    return _jvm.local_relation(spark, schema, streaming=streaming)


def plan_text(frame: DataFrame, form: str) -> str:
    """Returns what EXPLAIN prints of a query; `form` is `simple`, `extended`, `codegen`, `cost` or `formatted`."""
    mode = _jvm.jvm(frame.sparkSession).org.apache.spark.sql.execution.ExplainMode.fromString(form)
    return str(frame._jdf.queryExecution().explainString(mode))


def check_output_mode(frame: DataFrame, mode: OutputMode) -> None:
    """Asks Spark whether the streaming `frame` can be written in `mode`.

    Raises:
        AnalysisException: what Spark would say when the query starts.
    """
    _jvm.check_streaming(frame, mode.value.capitalize())


def possible_output_modes(frame: DataFrame) -> tuple[OutputMode, ...]:
    """Returns all output modes in which Spark can write the streaming `frame`."""
    found = []
    for mode in OutputMode:
        with suppress(AnalysisException):
            check_output_mode(frame, mode)
            found.append(mode)
    return tuple(found)


def supported_output_mode(frame: DataFrame, modes: Sequence[OutputMode]) -> OutputMode:
    """Returns the first of `modes` in which Spark can write the streaming `frame`.

    Raises:
        AnalysisException: the query cannot be streamed in any of them; the complaint about the first.
    """
    first: AnalysisException | None = None
    for mode in modes:
        try:
            check_output_mode(frame, mode)
        except AnalysisException as refused:
            first = first or refused
        else:
            return mode
    assert first is not None, "no mode was offered"
    raise first


def stateful_operators(frame: DataFrame) -> tuple[str, ...]:
    """Returns the names of the stateful operators of a streaming query, outermost first."""
    return tuple(name for node in operators_with_state(frame) if (name := stateful_name(node)) is not None)


def operators_with_state(frame: DataFrame) -> Iterator[Any]:
    """Yields the operators of a streaming query that may keep state, and others, outermost first."""
    if frame.isStreaming:
        yield from _operators(frame, (*STATEFUL, "Join"))


def streaming_only_operators(frame: DataFrame) -> tuple[str, ...]:
    """Returns the names of the operators of a batch query whose result depends on how a stream is cut into batches."""
    nodes = (node.getClass().getSimpleName() for node in _operators(frame, _STREAMING_ONLY))
    return tuple(STATEFUL[name] for name in nodes if name in _STREAMING_ONLY)


def stateful_name(node: Any) -> str | None:
    """Returns the name of an operator of a logical plan when it keeps state in a stream, else None."""
    name = node.getClass().getSimpleName()
    if name in STATEFUL and node.isStreaming():
        return STATEFUL[name]
    if name == "Join" and node.left().isStreaming() and node.right().isStreaming():
        return STREAM_JOIN
    return None


def joins_of_streams(plan: Any) -> Iterator[Any]:
    """Yields the joins of two streams in a logical plan, outermost first."""
    return (node for node in _jvm.nodes(plan) if stateful_name(node) == STREAM_JOIN)


def uses_processing_time_timers(frame: DataFrame) -> bool:
    """Whether a streaming query has timers or values that go by the machine's clock.

    Spark then runs batches without rows for ever, with every trigger, because a timer might be due.
    """
    return plan_uses_processing_time_timers(_jvm.analyzed_plan(frame))


def plan_uses_processing_time_timers(plan: Any) -> bool:
    """As `uses_processing_time_timers`, of an analysed plan."""
    modes = (_time_mode(node) for node in _operators_of(plan, ("WithState",)))
    return any(mode is not None and mode.startswith("ProcessingTime") for mode in modes)


def drops_late_rows(node: Any) -> bool:
    """Whether an operator with state looks at the watermark: one of the user's own does with timers of event time."""
    mode = _time_mode(node)
    return mode is None or mode.startswith("EventTime")


def _time_mode(node: Any) -> str | None:
    """Returns by what an operator with state of the user's own wakes up: None for other operators."""
    name = node.getClass().getSimpleName()
    if name.startswith("TransformWithState"):
        mode = node.timeMode()
    elif name.startswith("FlatMapGroups"):
        mode = node.timeout()
    else:
        return None
    return str(mode.getClass().getSimpleName())


def watermark(frame: DataFrame) -> tuple[str, str] | None:
    """Returns the outermost watermark of a query: its column, and the delay after which rows count as late; or None."""
    for node in _operators(frame, ("EventTimeWatermark",)):
        if node.getClass().getSimpleName() == "EventTimeWatermark":
            return str(node.eventTime().sql()).strip("`"), str(node.delay().toString())
    return None


def groups_by_session(frame: DataFrame) -> bool:
    """Whether a query groups by session windows, of which Spark cannot tell those that changed in a batch."""
    return any(
        node.getClass().getSimpleName() == "Aggregate"
        and any(_jvm.is_marked(each, _SESSION_WINDOW) for each in _jvm.scala_seq(node.groupingExpressions()))
        for node in _operators(frame, ("session_window",))
    )


def observe_runs_twice(frame: DataFrame) -> bool:
    """Whether Spark would execute `observe()` counters of a batch query more than once.

    To sort all rows Spark first runs what is below, up to the next exchange, to find the bounds.
    """
    return not frame.isStreaming and _counts_twice(_jvm.analyzed_plan(frame), sampled=False)


def _counts_twice(plan: Any, *, sampled: bool) -> bool:
    match plan.getClass().getSimpleName():
        case "CollectMetrics" if sampled:
            return True
        case "Sort":
            sampled = sampled or bool(getattr(plan, "global")())
        case "RepartitionByExpression":
            sampled = True
        case "Aggregate" | "Distinct" | "RebalancePartitions":
            sampled = False
    return any(_counts_twice(child, sampled=sampled) for child in _jvm.scala_seq(plan.children()))


def _operators(frame: DataFrame, names: Iterable[str]) -> Iterator[Any]:
    """Yields the operators of a query, outermost first; none when its text has none of `names`: that is one call."""
    yield from _operators_of(_jvm.analyzed_plan(frame), names)


def _operators_of(plan: Any, names: Iterable[str]) -> Iterator[Any]:
    text = str(plan)
    if any(name in text for name in names):
        yield from _jvm.nodes(plan)


@dataclass(frozen=True, slots=True)
class RowKeeping:
    """What a query does to the number of its rows.

    `changed_by` is an operator that makes it another one, None when there is none; what expectations take out
    and what `deduplicates` removes is counted, and does not make one.
    """

    changed_by: str | None
    deduplicates: bool


def row_keeping(frame: DataFrame) -> RowKeeping:
    """Returns what the streaming query `frame` does to the number of its rows; asks for its plan only."""
    pending, deduplicates = [_jvm.analyzed_plan(frame)], False
    while pending:
        node = pending.pop()
        name = str(node.nodeName())
        children = _jvm.scala_seq(node.children())
        if name in _COUNTED_DUPLICATES:
            deduplicates = True
        elif name not in _KEEPING | _SOURCES and not (name == "Filter" and _is_counted(children[0])):
            return RowKeeping(name, deduplicates)
        pending.extend(children)
    return RowKeeping(None, deduplicates)


def _is_counted(below: Any) -> bool:
    """Whether a filter is directly above the counters of expectations: it takes out what they count."""
    return str(below.nodeName()) == "CollectMetrics" and str(below.name()).startswith(_COUNTERS)


def append_distinct(frame: DataFrame) -> DataFrame:
    """Returns a streaming query with its DISTINCT as a deduplication where it can append only so; else `frame` itself.

    Spark runs the DISTINCT of SQL as an aggregation, which without a watermark in its columns replaces the whole result
    in each batch. A deduplication gives the same rows, each in the batch that brings it first.
    """
    plan = _jvm.analyzed_plan(frame)
    if not frame.isStreaming or _DISTINCT not in str(plan) or _appends(frame):
        return frame
    changed = _jvm.frame_of(frame.sparkSession, _deduplicated(frame, plan))
    return changed if _appends(changed) else frame


def _appends(frame: DataFrame) -> bool:
    with suppress(AnalysisException):
        check_output_mode(frame, OutputMode.APPEND)
        return True
    return False


def _deduplicated(frame: DataFrame, plan: Any) -> Any:
    children = [_deduplicated(frame, child) for child in _jvm.scala_seq(plan.children())]
    if children:
        plan = plan.withNewChildren(_jvm.to_seq(frame.sparkSession, children))
    if plan.getClass().getSimpleName() != _DISTINCT or not plan.isStreaming():
        return plan
    logical = _jvm.jvm(frame.sparkSession).org.apache.spark.sql.catalyst.plans.logical
    return logical.Deduplicate(plan.child().output(), plan.child())
