"""`pipelines.watermark.lateness` is one of its values."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError, did_you_mean
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.lateness_counting import LATENESS, LatenessCounting


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
