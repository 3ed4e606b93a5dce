"""Whether a streaming query gives one row for each that it reads, so that both can be counted and compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame

from penstock.spark import _jvm

_KEEPING: Final = frozenset(
    {"CollectMetrics", "EventTimeWatermark", "Project", "ResolvedHint", "SubqueryAlias", "Union", "View"}
)
_COUNTED_DUPLICATES: Final = frozenset({"Deduplicate", "DeduplicateWithinWatermark"})
_SOURCES: Final = frozenset({"StreamingRelation", "StreamingRelationV2"})
_COUNTERS: Final = "penstock:"


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
