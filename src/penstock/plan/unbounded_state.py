"""What the warnings about state that grows for ever say of its size. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.resolved import ResolvedFlow, ResolvedGraph
from penstock.graph.schema.table_schema import Schema
from penstock.graph.unbounded_state import STREAM_JOIN, UNBOUNDED_STATE
from penstock.plan.state import StateSnapshot

_WORD: Final = 8  # Spark's rows in a state store: a word for the NULLs and one for each field, then what is longer
_FIXED: Final = {
    *("boolean", "byte", "tinyint", "short", "smallint", "int", "integer", "bigint", "long"),
    *("float", "double", "date", "timestamp", "timestamp_ntz"),
}


def with_state_sizes(
    graph: ResolvedGraph, state: StateSnapshot, goes_on: Callable[[ResolvedFlow], bool]
) -> ResolvedGraph:
    """Returns the graph with warnings that give the size of the state: as measured, else as its sources are known.

    `goes_on` says whether a flow goes on with its checkpoint.
    """
    flows = {(str(flow.declaration.target), flow.declaration.name): flow for flow in graph.flows}

    def sized(warning: PenstockError) -> PenstockError:
        flow = flows.get((warning.dataset or "", warning.facts.get("flow", "")))
        if flow is None or warning.condition not in UNBOUNDED_STATE.values():
            return warning
        measured = state.state_size(flow.declaration.target, flow.declaration.name) if goes_on(flow) else None
        known = f"It has {measured.describe()}." if measured is not None else _of_sources(graph, state, flow, warning)
        if known is None:
            return warning
        facts = {**warning.facts, "size": known}
        return DefinitionError(warning.condition, location=warning.location, dataset=warning.dataset, **facts)

    return replace(graph, warnings=tuple(map(sized, graph.warnings)))


def _of_sources(graph: ResolvedGraph, state: StateSnapshot, flow: ResolvedFlow, warning: PenstockError) -> str | None:
    """Says what the first batch of a join keeps, as far as the pipeline's own tables show; None where they do not."""
    if warning.condition != UNBOUNDED_STATE[STREAM_JOIN]:
        return None  # how many groups or keys the rows have, only a batch shows
    found: list[str] = []
    size = 0
    for read in graph.stored_inputs(flow.inputs):
        rows = state.table_rows(read.dataset) if read.streaming and read.dataset is not None else None
        if rows is not None and read.dataset is not None:
            width = _row_bytes(graph.stored_schemas[read.dataset])
            found.append(f"the {rows:,} rows of {read.dataset} (about {width} bytes each)")
            size += rows * width
    if not found:
        return None
    return f"It begins with {' and '.join(found)}, {size / 1e6:,.1f} MB, and grows with every row."


def _row_bytes(schema: Schema) -> int:
    longer = sum(2 * _WORD for column in schema.columns if column.type not in _FIXED)
    return _WORD * (1 + len(schema.columns)) + longer
