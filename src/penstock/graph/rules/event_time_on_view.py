"""What is the future is judged once, where rows are stored."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import EventTime, OnViolation, TemporaryView


def event_time_on_view(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports each view that quarantines by event time: its readers and its quarantine judge at different times."""
    for dataset in graph.declared:
        for expectation in dataset.expectations if isinstance(dataset, TemporaryView) else ():
            if isinstance(expectation.constraint, EventTime) and expectation.on_violation is OnViolation.QUARANTINE:
                yield DefinitionError(
                    "EVENT_TIME_QUARANTINE_OF_VIEW",
                    location=expectation.location,
                    dataset=str(dataset.identifier),
                    expectation=expectation.name,
                    name=dataset.identifier,
                )
