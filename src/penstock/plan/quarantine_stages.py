"""The quarantine of a table is set up, altered and emptied with the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.graph.elements import COLUMN_MAPPING, TYPE_WIDENING, MaterializedView, StreamingTable, Table
from penstock.graph.quarantine import has_quarantine, quarantine_of, quarantine_path, quarantine_schema
from penstock.graph.resolved import ResolvedGraph
from penstock.plan.changes import TableComparison
from penstock.plan.protection import privacy_changes, protection_changes
from penstock.plan.stages import AlterTable, CreateTable, ResetTable
from penstock.plan.state import DATASET_TYPE, GENERATION, StateSnapshot

_OF_COLUMNS = frozenset({TYPE_WIDENING, COLUMN_MAPPING})
"""The properties without which a table could not have the columns that it has."""

QUARANTINE = "QUARANTINE"
"""The `DATASET_TYPE` of a quarantine."""


def quarantine_stages(
    table: Table, graph: ResolvedGraph, state: StateSnapshot, *, generation: int, command: Callable[[], str]
) -> Iterator[CreateTable | ResetTable | AlterTable]:
    """Yields what brings the table's quarantine to the table's declaration; nothing for a table without one.

    The quarantine has the generation too: when a crash separates the two commits of a full
    refresh, the next update empties what is left. Readers get no more of its rows than of the table's.
    `command` returns the command for a full refresh of the table.

    Raises:
        StateError: COLUMN_TYPE_CHANGED.
    """
    if not has_quarantine(table):
        return
    identifier = quarantine_of(table.identifier)
    path = quarantine_path(state.paths[table.identifier])
    existing = state.tables.get(identifier)
    kind = MaterializedView if isinstance(table, MaterializedView) else StreamingTable
    quarantine = kind(
        identifier=identifier,
        location=table.location,
        comment=f"Rows that break an expectation of {table.identifier}",
        table_properties={name: value for name, value in table.table_properties.items() if name in _OF_COLUMNS},
    )
    flows = graph.flows_to(table.identifier)
    columns = [flow.rows for flow in flows]
    if existing is not None and existing.generation == generation and any(flow.changes is not None for flow in flows):
        # The table does not have all columns of its events: when the type of another one changes, it can go on.
        columns.insert(0, existing.schema)
    schema = quarantine_schema(columns)
    properties = {
        **quarantine.table_properties,
        DATASET_TYPE: QUARANTINE,
        GENERATION: str(generation),
        **privacy_changes(table, existing),
        **protection_changes(table, existing),
    }
    if existing is None:
        yield CreateTable(
            dataset=identifier,
            explanation=f"holds the rows that {table.identifier} quarantines",
            table=quarantine,
            schema=schema,
            path=path,
            properties=properties,
        )
    elif existing.generation != generation:
        yield ResetTable(
            dataset=identifier,
            explanation=f"emptied, as {table.identifier} is computed again",
            table=quarantine,
            schema=schema,
            path=path,
            properties=properties,
        )
    else:
        comparison = TableComparison(quarantine, existing, schema, properties, command=command)
        if changes := comparison.changes():
            yield AlterTable(
                dataset=identifier, explanation=changes.describe(), table=quarantine, path=path, changes=changes
            )
