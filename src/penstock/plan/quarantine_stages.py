"""The quarantine of a table is set up, and emptied, with the table."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.graph.elements import StreamingTable, Table
from penstock.graph.quarantine import has_quarantine, quarantine_of, quarantine_path, quarantine_schema
from penstock.graph.resolved import ResolvedGraph
from penstock.plan.stages import CreateTable, ResetTable
from penstock.plan.state import DATASET_TYPE, GENERATION, StateSnapshot

QUARANTINE = "QUARANTINE"
"""The `DATASET_TYPE` of a quarantine."""


def quarantine_stages(
    table: Table, graph: ResolvedGraph, state: StateSnapshot, *, generation: int
) -> Iterator[CreateTable | ResetTable]:
    """Yields what brings the table's quarantine to the table's generation; nothing for a table without one.

    The generation stands in the quarantine too: when a crash separates the two commits of a full
    refresh, the next update empties what is left.
    """
    if not has_quarantine(table):
        return
    identifier = quarantine_of(table.identifier)
    path = quarantine_path(state.paths[table.identifier])
    existing = state.tables.get(identifier)
    if existing is not None and existing.generation == generation:
        return
    aside = StreamingTable(
        identifier=identifier,
        location=table.location,
        comment=f"Rows that break an expectation of {table.identifier}",
    )
    schema = quarantine_schema(flow.schema for flow in graph.flows_to(table.identifier))
    properties = {DATASET_TYPE: QUARANTINE, GENERATION: str(generation)}
    if existing is None:
        yield CreateTable(
            dataset=identifier,
            explanation=f"keeps the rows that {table.identifier} puts aside",
            table=aside,
            schema=schema,
            path=path,
            properties=properties,
        )
    else:
        yield ResetTable(
            dataset=identifier,
            explanation=f"emptied, as {table.identifier} is computed again",
            table=aside,
            schema=schema,
            path=path,
            properties=properties,
        )
