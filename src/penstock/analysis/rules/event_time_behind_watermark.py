"""A row from the future is kept off a watermark only before it."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.elements import EventTime
from penstock.graph.resolved import ResolvedGraph


def event_time_behind_watermark(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses to judge event times of rows that have moved the watermark of the same column in their own query."""
    for identifier, table in graph.tables.items():
        for expectation in table.expectations:
            rule = expectation.constraint
            for flow in graph.flows_to(identifier) if isinstance(rule, EventTime) else ():
                if flow.watermark is not None and _name(flow.watermark[0]) == rule.column.casefold():
                    yield DefinitionError(
                        "EVENT_TIME_BEHIND_WATERMARK",
                        location=expectation.location,
                        dataset=str(identifier),
                        expectation=expectation.name,
                        name=identifier,
                        flow=flow.declaration.name,
                        column=rule.column,
                    )


def _name(column: str) -> str:
    """Returns the name of a column without what it is qualified by."""
    return column.replace("`", "").rpartition(".")[2].casefold()
