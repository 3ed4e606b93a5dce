"""What keeps a query from Spark's two ways of running without batches: continuous processing and real-time mode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql import DataFrame

from penstock.spark import _jvm
from penstock.spark.accelerators.own_classes import ARRIVING_FILES
from penstock.spark.plans.inspection import stateful_name

_SOURCES: Final = frozenset({"StreamingRelation", "StreamingRelationV2"})
# As Spark's UnsupportedOperationChecker has them.
_CONTINUOUS_OPERATIONS: Final = frozenset(
    {
        "DeserializeToObject",
        "Filter",
        "MapElements",
        "MapPartitions",
        "Project",
        "SerializeFromObject",
        "SubqueryAlias",
        "TypedFilter",
        "View",
    }
)
_WORDS: Final = {"EventTimeWatermark": "a watermark", "Union": "a union", "Generate": "explode or the like"}
_CONTINUOUS_SINKS: Final = frozenset({"console", "foreach", "kafka", "memory", "noop"})
_REAL_TIME_SOURCES: Final = frozenset({"kafka"})
_REAL_TIME_SINKS: Final = frozenset({"console", "foreach", "kafka", "memory"})


def in_the_way_of_continuous(frame: DataFrame, sink: str) -> tuple[str, ...]:
    """Returns all that keeps the query into a sink of this kind from continuous processing; none may be known."""
    return (*_ordered(_continuous(frame)), *_sink(sink, _CONTINUOUS_SINKS))


def in_the_way_of_real_time(frame: DataFrame, sink: str, mode: str) -> tuple[str, ...]:
    """Returns all that is known to keep the query from real-time mode."""
    reads = (_read(leaf) for leaf in _nodes(_jvm.analyzed_plan(frame)) if leaf.getClass().getSimpleName() in _SOURCES)
    sources = (f"it reads {read}, not Kafka" for read in reads if read.casefold() not in _REAL_TIME_SOURCES)
    wrong_mode = () if mode == "update" else (f"its output mode is {mode}, not update",)
    return (*_ordered(sources), *_sink(sink, _REAL_TIME_SINKS), *wrong_mode)


def _continuous(frame: DataFrame) -> Iterator[str]:
    for node in _nodes(_jvm.analyzed_plan(frame)):
        name = node.getClass().getSimpleName()
        if name in _SOURCES:
            if not (name == "StreamingRelationV2" and _reads_continuously(frame, node)):
                yield f"it reads {_read(node)}, which gives batches only"
        elif name not in _CONTINUOUS_OPERATIONS and node.isStreaming():
            state = stateful_name(node)
            yield f"it keeps state ({state})" if state is not None else f"it has {_WORDS.get(name, node.nodeName())}"


def _reads_continuously(frame: DataFrame, leaf: Any) -> bool:
    capability = _jvm.jvm(frame.sparkSession).org.apache.spark.sql.connector.catalog.TableCapability
    return bool(leaf.table().capabilities().contains(capability.CONTINUOUS_READ))


def _read(leaf: Any) -> str:
    if leaf.getClass().getSimpleName() == "StreamingRelationV2":
        return str(leaf.sourceName())
    kind = str(leaf.dataSource().className())
    return str(leaf.dataSource().options().get("penstock.format").get()) if kind == ARRIVING_FILES else kind


def _sink(sink: str, possible: frozenset[str]) -> tuple[str, ...]:
    return () if sink.casefold() in possible else (f"its sink is {sink}, not Kafka",)


def _ordered(reasons: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reasons))


def _nodes(plan: Any) -> Iterator[Any]:
    for child in _jvm.scala_seq(plan.children()):
        yield from _nodes(child)
    yield plan
