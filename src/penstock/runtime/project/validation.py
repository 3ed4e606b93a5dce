"""Checks and plans a pipeline without running it: nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from penstock.config import PipelineConfig
from penstock.errors import PenstockError, PipelineInvalid
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import ResolvedGraph
from penstock.plan.selection import RefreshSelection
from penstock.plan.stages import UpdatePlan
from penstock.runtime.project.watched_workspace import watched_workspace
from penstock.runtime.project.workspace import Progress, check_files, say_nothing


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """What `penstock validate` prints.

    `datasets` are `{name, type, schema, inputs}` in reading order; the sinks last, with an empty schema.
    `downstream` names the datasets that could not be checked, because something that they read is wrong.
    """

    valid: bool
    datasets: tuple[Mapping[str, Any], ...]
    errors: tuple[PenstockError, ...]
    warnings: tuple[PenstockError, ...]
    graph: ResolvedGraph | None = None
    downstream: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedUpdate:
    """An update that could run: its plan and the graph behind it."""

    plan: UpdatePlan
    graph: ResolvedGraph


def validate(
    config: PipelineConfig, *, progress: Progress | None = None, spark: SparkSession | None = None
) -> ValidationReport:
    """Loads and analyses the pipeline and reports everything that is wrong.

    Raises:
        ConfigError, ExternalError: the files cannot be found, or Spark does not start.
    """
    say = progress or say_nothing
    try:
        if spark is None:
            check_files(config)
        with watched_workspace(config, say, spark=spark) as workspace:
            graph = workspace.resolve(say)
    except PipelineInvalid as invalid:
        return ValidationReport(False, (), invalid.errors, (), downstream=invalid.downstream)
    datasets = tuple(_dataset(graph, identifier) for identifier in (*graph.order, *graph.sinks))
    return ValidationReport(True, datasets, (), graph.warnings, graph)


def plan_update(
    config: PipelineConfig,
    selection: RefreshSelection,
    *,
    progress: Progress | None = None,
    spark: SparkSession | None = None,
) -> PlannedUpdate:
    """Returns exactly what `run_update` with the same arguments would do now.

    Raises:
        PenstockError: whatever would keep the update from running.
    """
    say = progress or say_nothing
    if spark is None:
        check_files(config)
    with watched_workspace(config, say, spark=spark) as workspace:
        graph = workspace.resolve(say)
        return PlannedUpdate(workspace.plan(graph, selection), graph)


def _dataset(graph: ResolvedGraph, identifier: Identifier) -> dict[str, Any]:
    inputs = [read for flow in graph.flows_to(identifier) for read in flow.inputs]
    if identifier in graph.views:
        inputs.extend(graph.views[identifier].inputs)
    return {
        "name": str(identifier),
        "type": "SINK" if identifier in graph.sinks else graph.dataset(identifier).dataset_type,
        "schema": [
            {"name": column.name, "type": column.type, "comment": column.comment}
            for column in (graph.stored_schemas[identifier].columns if identifier in graph.stored_schemas else ())
        ],
        "inputs": list(dict.fromkeys(read.source for read in inputs)),
    }
