"""What is declared of tables and views is possible for them."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError, did_you_mean
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import EventTime, OnViolation, TemporaryView, UniqueKey
from penstock.graph.lateness_counting import LATENESS, LatenessCounting


# Uniqueness is checked where rows are stored.
def uniqueness_on_view(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports each expectation of a view that its rows be unique."""
    for dataset in graph.declared:
        for expectation in dataset.expectations if isinstance(dataset, TemporaryView) else ():
            if isinstance(expectation.constraint, UniqueKey):
                yield DefinitionError(
                    "UNIQUENESS_ON_VIEW",
                    location=expectation.location,
                    dataset=str(dataset.identifier),
                    expectation=expectation.name,
                    name=dataset.identifier,
                )


# What is the future is judged once, where rows are stored.
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


def cluster_by_with_partitions(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports tables with both `cluster_by` and `partition_cols`, before Delta refuses to create them."""
    for table in graph.tables:
        if table.cluster_by and table.partition_columns:
            yield table.error("SPECIFY_CLUSTER_BY_WITH_PARTITIONED_BY_IS_NOT_ALLOWED", name=table.identifier)


def lateness_setting(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports a value that is none, in the settings of a table or a flow."""
    declared = {(table.location, table.identifier): table.spark_conf for table in graph.tables}
    declared |= {(flow.location, flow.target): flow.spark_conf for flow in graph.flows}  # often the table's own
    for (location, dataset), settings in declared.items():
        try:
            LatenessCounting.of(settings)
        except ValueError:
            known = [each.value for each in LatenessCounting]
            yield DefinitionError(
                "LATENESS_SETTING_INVALID",
                location=location,
                dataset=str(dataset),
                name=dataset,
                value=settings[LATENESS],
                suggestion=did_you_mean(settings[LATENESS], known, also=f"Known: {', '.join(known)}."),
            )
