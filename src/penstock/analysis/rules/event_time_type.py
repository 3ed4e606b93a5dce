"""An event time is a timestamp."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.elements import Dataset, EventTime
from penstock.graph.resolved import ResolvedGraph
from penstock.graph.schema import Schema


def event_time_type(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses to judge texts, dates and numbers as event times: what they mean is for the query to say."""
    for dataset, rows in _judged(graph):
        types = {column.name.casefold(): column.type for column in rows.columns}
        for expectation in dataset.expectations:
            rule = expectation.constraint
            if isinstance(rule, EventTime) and not types[rule.column.casefold()].startswith("timestamp"):
                yield DefinitionError(
                    "EVENT_TIME_NOT_TIMESTAMP",
                    location=expectation.location,
                    dataset=str(dataset.identifier),
                    expectation=expectation.name,
                    column=rule.column,
                    type=types[rule.column.casefold()],
                )


def _judged(graph: ResolvedGraph) -> Iterator[tuple[Dataset, Schema]]:
    for view in graph.views.values():
        yield view.view, view.schema
    for flow in graph.flows:
        table = graph.tables.get(flow.declaration.target)
        if table is not None:
            yield table, flow.rows
