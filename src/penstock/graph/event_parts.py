"""What a table of change flows expects of every event, without being asked: a key, a sequence, and `where`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.graph.elements import ChangeFlow, EventPart, Expectation, MaterializedView, OnViolation, StreamingTable
from penstock.graph.flow_type import FlowType
from penstock.graph.resolved import ResolvedFlow


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
