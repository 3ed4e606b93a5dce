"""Which datasets of a pipeline have a quarantine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.graph.companions.quarantine import owner_of
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import (
    ChangeFlow,
    Dataset,
    EventPart,
    Expectation,
    MaterializedView,
    OnViolation,
    SnapshotChangeFlow,
    StreamingTable,
)
from penstock.graph.flows.flow_type import FlowType
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import ResolvedFlow


def has_quarantine(dataset: Dataset) -> bool:
    """Whether an expectation of the dataset sends rows to quarantine."""
    return any(expectation.on_violation is OnViolation.QUARANTINE for expectation in dataset.expectations)


def quarantining(graph: DataflowGraph) -> tuple[Dataset, ...]:
    """Returns the datasets of a pipeline that have a quarantine: by an expectation, or because changes are applied."""
    changed = {flow.target for flow in graph.flows if isinstance(flow, (ChangeFlow, SnapshotChangeFlow))}
    return tuple(each for each in graph.datasets.values() if each.identifier in changed or has_quarantine(each))


def declared_owner(graph: DataflowGraph, quarantine: Identifier) -> Identifier | None:
    """Returns which dataset of the pipeline has a quarantine of that name, None when there is none."""
    owner = owner_of(quarantine)
    dataset = None if owner is None else graph.get(owner)
    if dataset is None:
        return None
    applied = (isinstance(flow, (ChangeFlow, SnapshotChangeFlow)) for flow in graph.flows_to(dataset.identifier))
    return dataset.identifier if has_quarantine(dataset) or any(applied) else None


def with_event_parts(
    table: StreamingTable | MaterializedView, flows: Sequence[ResolvedFlow]
) -> StreamingTable | MaterializedView:
    """Adds expectations that send what cannot be applied to the table's quarantine, if `flows` apply changes by key."""
    kinds = {flow.type for flow in flows}
    if FlowType.CHANGE in kinds:
        parts = [EventPart.KEY, EventPart.SEQUENCE]
        if any(isinstance(each.declaration, ChangeFlow) and each.declaration.where is not None for each in flows):
            parts.append(EventPart.WHERE)
    elif FlowType.SNAPSHOT_CHANGE in kinds:
        parts = [EventPart.KEY]
    else:
        return table
    added = (Expectation(part.value, part, OnViolation.QUARANTINE, table.location) for part in parts)
    return replace(table, expectations=(*table.expectations, *added))
