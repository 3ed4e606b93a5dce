"""Event times, watermarks and the state that they free."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import PenstockError
from penstock.graph.elements import Dataset, EventTime
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.resolved import EndlessState, ResolvedFlow, ResolvedGraph
from penstock.graph.schema.table_schema import Schema
from penstock.graph.stream_definition import NO_DELAY, STATE_STORE
from penstock.graph.unbounded_state import SIZE_NOT_KNOWN, UNBOUNDED_STATE


def event_time_type(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses to judge texts, dates and numbers as event times: what they mean is for the query to say."""
    for dataset, rows in _judged_rows(graph):
        types = {column.name.casefold(): column.type for column in rows.columns}
        for expectation in dataset.expectations:
            rule = expectation.constraint
            if isinstance(rule, EventTime) and not types[rule.column.casefold()].startswith("timestamp"):
                kind = types[rule.column.casefold()]
                yield expectation.error("EVENT_TIME_NOT_TIMESTAMP", dataset.identifier, column=rule.column, type=kind)


def _judged_rows(graph: ResolvedGraph) -> Iterator[tuple[Dataset, Schema]]:
    for view in graph.views.values():
        yield view.view, view.schema
    for flow in graph.flows:
        table = graph.tables.get(flow.declaration.target)
        if table is not None:
            yield table, flow.rows


# A row from the future is kept off a watermark only before it.
def event_time_behind_watermark(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses to judge event times of rows that have moved the watermark of the same column in their own query."""
    for identifier, table in graph.tables.items():
        for expectation in table.expectations:
            rule = expectation.constraint
            for flow in graph.flows_to(identifier) if isinstance(rule, EventTime) else ():
                if flow.watermark is not None and _unqualified(flow.watermark[0]).casefold() == rule.column.casefold():
                    facts = {"name": identifier, "flow": flow.declaration.name, "column": rule.column}
                    yield expectation.error("EVENT_TIME_BEHIND_WATERMARK", identifier, **facts)


def _unqualified(column: str) -> str:
    """Returns the name of a column without what it is qualified by."""
    return column.replace("`", "").rpartition(".")[2]


def join_watermark_on_one_side(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses a join that would lose late rows of the side without a watermark uncounted."""
    for flow in graph.flows:
        for join in flow.one_sided_joins:
            yield flow.declaration.error(
                "JOIN_WATERMARK_ON_ONE_SIDE", flow=flow.declaration.name, marked=join.marked, unmarked=join.unmarked
            )


# A watermark without delay takes every row that is out of order across batches for late.
def watermark_without_delay(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Warns of it where an operator drops late rows: Spark takes it, and it fits only rows that come in order."""
    for flow in graph.flows:
        if flow.stateful and (column := _column_without_delay(flow)) is not None:
            yield flow.declaration.error("WATERMARK_WITHOUT_DELAY", flow=flow.declaration.name, column=column)


def _column_without_delay(flow: ResolvedFlow) -> str | None:
    """The column of such a watermark: of the outermost by its name in the query, of others as their source has it."""
    if flow.watermark is not None and flow.watermark[1] == NO_DELAY:
        return _unqualified(flow.watermark[0])
    marks = flow.stream.watermarks if flow.stream is not None else {}
    return next((column for column, delay in marks.items() if delay == NO_DELAY), None)


# State of the user's own is kept in RocksDB only.
_OWN_STATE = "transformWithState"
_ROCKSDB = ".RocksDBStateStoreProvider"


def own_state_store(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses another state store before Spark does, in the middle of a run."""
    for flow in graph.flows:
        chosen = None if flow.stream is None else flow.stream.settings.get(STATE_STORE)
        if _OWN_STATE in flow.stateful and chosen is not None and not chosen.endswith(_ROCKSDB):
            yield flow.declaration.error("STATE_STORE_NOT_SUPPORTED", flow=flow.declaration.name, provider=chosen)


# State that no watermark frees grows for ever.
def state_never_freed(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Finds each such operator, unless the flow says that its state may grow: a warning, an error of a strict pipeline.

    An aggregation in complete mode also rewrites its table in each batch.
    """
    for flow in graph.flows:
        for state in flow.endless:
            if state.operator in UNBOUNDED_STATE and not graph.allows_unbounded_state(flow):
                yield _state_warning(flow, state)


def _state_warning(flow: ResolvedFlow, state: EndlessState) -> PenstockError:
    facts = {"flow": flow.declaration.name, "size": SIZE_NOT_KNOWN[state.operator]}
    if state.operator == "aggregate":
        complete = flow.type is FlowType.COMPLETE
        facts["also"] = " and the table is rewritten in each batch (complete mode)" if complete else ""
    warning = flow.declaration.error(UNBOUNDED_STATE[state.operator], **facts)
    warning.location = state.location or warning.location
    return warning
