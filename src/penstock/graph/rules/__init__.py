"""Structural rules: what can be wrong with a pipeline before any query was analysed.

Each rule is one file with one function, `graph -> errors`; to add one, write the file, add it to
`RULES`, and put `ok` and `bad` pipelines beside the others in `tests/golden`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.errors import PenstockError
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.rules.change_flow_options import change_flow_options
from penstock.graph.rules.change_flows_agree import change_flows_agree
from penstock.graph.rules.cluster_by_with_partitions import cluster_by_with_partitions
from penstock.graph.rules.dataset_without_flow import dataset_without_flow
from penstock.graph.rules.duplicate_dataset import duplicate_dataset
from penstock.graph.rules.duplicate_expectation import duplicate_expectation
from penstock.graph.rules.duplicate_flow import duplicate_flow
from penstock.graph.rules.duplicate_path import duplicate_path
from penstock.graph.rules.empty_pipeline import empty_pipeline
from penstock.graph.rules.event_time_on_view import event_time_on_view
from penstock.graph.rules.file_sink_shared import file_sink_shared
from penstock.graph.rules.flow_into_sink import flow_into_sink
from penstock.graph.rules.flow_target import flow_target
from penstock.graph.rules.jdbc_options import jdbc_options
from penstock.graph.rules.lateness_setting import lateness_setting
from penstock.graph.rules.once_flow_trigger import once_flow_trigger
from penstock.graph.rules.output_mode_fits import output_mode_fits
from penstock.graph.rules.quarantine_name_taken import quarantine_name_taken
from penstock.graph.rules.sink_groups import sink_groups
from penstock.graph.rules.sink_options import sink_options
from penstock.graph.rules.uniqueness_on_view import uniqueness_on_view

Rule = Callable[[DataflowGraph], Iterator[PenstockError]]

RULES: tuple[Rule, ...] = (
    duplicate_dataset,
    duplicate_flow,
    flow_target,
    flow_into_sink,
    dataset_without_flow,
    once_flow_trigger,
    lateness_setting,
    change_flow_options,
    change_flows_agree,
    output_mode_fits,
    duplicate_expectation,
    duplicate_path,
    quarantine_name_taken,
    uniqueness_on_view,
    event_time_on_view,
    cluster_by_with_partitions,
    sink_options,
    sink_groups,
    jdbc_options,
    file_sink_shared,
    empty_pipeline,
)


def check(graph: DataflowGraph) -> tuple[PenstockError, ...]:
    """Returns every structural error of `graph`, rule by rule; empty when all is well."""
    return tuple(error for rule in RULES for error in rule(graph))
