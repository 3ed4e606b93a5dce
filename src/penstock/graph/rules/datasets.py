"""What is declared of tables and views is possible for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.errors import DefinitionError, PenstockError, did_you_mean
from penstock.graph.companions.lateness_counting import LATENESS, LatenessCounting
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import EventTime, Expectation, OnViolation, TemporaryView, UniqueKey
from penstock.graph.identifier import Identifier

UNIVERSAL_FORMAT: Final = "delta.universalFormat.enabledFormats"


# Uniqueness is checked where rows are stored.
def uniqueness_on_view(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports each expectation of a view that its rows be unique."""
    for view, expectation in _expectations_of_views(graph):
        if isinstance(expectation.constraint, UniqueKey):
            yield expectation.error("UNIQUENESS_ON_VIEW", view, name=view)


# What is the future is judged once, where rows are stored.
def event_time_on_view(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports each view that quarantines by event time: its readers and its quarantine judge at different times."""
    for view, expectation in _expectations_of_views(graph):
        if isinstance(expectation.constraint, EventTime) and expectation.on_violation is OnViolation.QUARANTINE:
            yield expectation.error("EVENT_TIME_QUARANTINE_OF_VIEW", view, name=view)


def _expectations_of_views(graph: DataflowGraph) -> Iterator[tuple[Identifier, Expectation]]:
    for dataset in graph.declared:
        if isinstance(dataset, TemporaryView):
            yield from ((dataset.identifier, expectation) for expectation in dataset.expectations)


def cluster_by_with_partitions(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports tables with both `cluster_by` and `partition_cols`, before Delta refuses to create them."""
    for table in graph.tables:
        if table.cluster_by and table.partition_columns:
            yield table.error("SPECIFY_CLUSTER_BY_WITH_PARTITIONED_BY_IS_NOT_ALLOWED", name=table.identifier)


def universal_format(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports tables with the universal format: Delta accepts it without its converter, and then never writes it."""
    for table in graph.tables:
        properties = {name.casefold(): value for name, value in table.table_properties.items()}
        if value := properties.get(UNIVERSAL_FORMAT.casefold()):
            yield table.error(
                "TABLE_PROPERTY_UNSUPPORTED",
                name=table.identifier,
                property=UNIVERSAL_FORMAT,
                reason=f"the part of Delta that writes metadata for {value} is not published for this version",
                way_out="docs/how-to/catalogs.md#iceberg says what readers of Iceberg can do instead",
            )


def lateness_setting(graph: DataflowGraph) -> Iterator[PenstockError]:
    """Reports a value of `pipelines.watermark.lateness` that is none, in the settings of a table or a flow."""
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
