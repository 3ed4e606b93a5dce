"""The quarantine of a table: a table beside it that keeps the rows which break a quarantining expectation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

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
from penstock.graph.flow_type import FlowType
from penstock.graph.identifier import Identifier
from penstock.graph.resolved import ResolvedFlow
from penstock.graph.schema.table_schema import Schema

RESERVED_PREFIX = "_quarantine_"
"""What the quarantine's own columns begin with; no column of a table with a quarantine may."""

ROW_ID = "_quarantine_id"
RULES = "_quarantine_rules"
FLOW = "_quarantine_flow"
BATCH = "_quarantine_batch_id"
TIME = "_quarantine_time"
SOURCE = "_quarantine_source"
REPLAY = "_quarantine_replay"

_SUFFIX = "__quarantine"
_COORDINATES = {"file_path": "string", "topic": "string", "partition": "integer", "offset": "long"}
_OWN_TYPES: dict[str, Any] = {
    ROW_ID: "string",
    RULES: {"type": "array", "elementType": "string", "containsNull": True},
    FLOW: "string",
    BATCH: "long",
    TIME: "timestamp",
    SOURCE: {
        "type": "struct",
        "fields": [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in _COORDINATES.items()],
    },
    REPLAY: "string",
}


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


def quarantine_of(table: Identifier) -> Identifier:
    """Returns the name of a table's quarantine, whether or not it has one."""
    return replace(table, name=table.name + _SUFFIX)


def owner_of(quarantine: Identifier) -> Identifier | None:
    """Returns the name of the table whose quarantine would be called so; None when no quarantine is called so."""
    if not quarantine.name.casefold().endswith(_SUFFIX) or len(quarantine.name) == len(_SUFFIX):
        return None
    return replace(quarantine, name=quarantine.name[: -len(_SUFFIX)])


def quarantine_path(table_path: str) -> str:
    """Returns where the quarantine of the table at `table_path` is stored: the folder beside it."""
    return table_path.rstrip("/") + _SUFFIX


def quarantine_schema(queries: Iterable[Schema]) -> Schema:
    """Returns the columns of a quarantine: those of all queries that fill the table by name, then its own.

    Of a column that several have, the first one counts; one with a name of the quarantine's own is passed over. Every
    column is nullable and without metadata, because nothing can be demanded of rows that are wrong.
    """
    fields: dict[str, dict[str, Any]] = {}
    for query in queries:
        for field in json.loads(query.json)["fields"]:
            if not (name := field["name"].casefold()).startswith(RESERVED_PREFIX):
                fields.setdefault(name, {**field, "nullable": True, "metadata": {}})
    own = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in _OWN_TYPES.items()]
    return Schema(json.dumps({"type": "struct", "fields": [*fields.values(), *own]}))


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
