"""Structural rules: what can be wrong with a pipeline before any query was analysed.

Each rule is a function, `graph -> errors`, in the file of its subject; to add one, write it there, add it to
`RULES`, and put `ok` and `bad` pipelines beside the others in `tests/golden`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.errors import PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.rules import changes, datasets, flows, jdbc_options, names, sinks, table_properties

Rule = Callable[[DataflowGraph], Iterator[PenstockError]]

RULES: tuple[Rule, ...] = (
    names.duplicate_dataset,
    names.duplicate_flow,
    flows.flow_target,
    flows.flow_into_sink,
    flows.dataset_without_flow,
    flows.once_flow_trigger,
    datasets.lateness_setting,
    changes.change_flow_options,
    changes.change_flows_agree,
    changes.output_mode_fits,
    names.duplicate_expectation,
    names.duplicate_path,
    names.quarantine_name_taken,
    datasets.uniqueness_on_view,
    datasets.event_time_on_view,
    datasets.cluster_by_with_partitions,
    datasets.universal_format,
    table_properties.unknown_table_property,
    sinks.sink_options,
    sinks.sink_groups,
    jdbc_options.jdbc_options,
    sinks.file_sink_shared,
    flows.empty_pipeline,
)


def check(graph: DataflowGraph) -> tuple[PenstockError, ...]:
    """Returns every structural error of `graph`, rule by rule; empty when all is well."""
    return tuple(error for rule in RULES for error in rule(graph))
