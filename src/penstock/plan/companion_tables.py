"""The tables beside a table: its quarantine, and its late rows. They are altered and emptied with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.graph.companions.late_rows import LATE_ROWS, late_rows_of
from penstock.graph.companions.quarantine import quarantine_of, quarantine_path, quarantine_schema
from penstock.graph.companions.quarantining import has_quarantine
from penstock.graph.elements import COLUMN_MAPPING, TYPE_WIDENING, MaterializedView, StreamingTable, Table
from penstock.graph.protection import MASKS, PRIVATE, ROW_FILTER, protection_properties
from penstock.graph.resolved import ResolvedGraph
from penstock.plan.changes import TableComparison
from penstock.plan.stages import AlterTable, CreateTable, ResetTable, SetUpTable
from penstock.plan.state import DATASET_TYPE, GENERATION, StateSnapshot, TableState


def privacy_changes(table: Table, existing: TableState | None) -> dict[str, str]:
    """Marks a private table for other pipelines of the storage; one that no longer is loses the mark."""
    if table.temporary or (existing is not None and PRIVATE in existing.properties):
        return {PRIVATE: str(table.temporary).lower()}
    return {}


def protection_changes(table: Table, existing: TableState | None) -> dict[str, str]:
    """Returns the declared protection; one that is no longer declared is taken from the existing table."""
    ended = {name: "" for name in (ROW_FILTER, MASKS) if existing is not None and existing.properties.get(name)}
    return ended | protection_properties(table.row_filter, table.masks)


_OF_COLUMNS = frozenset({TYPE_WIDENING, COLUMN_MAPPING})
"""The properties without which a table could not have the columns that it has."""

QUARANTINE = "QUARANTINE"
"""The `DATASET_TYPE` of a quarantine."""


def quarantine_stages(
    table: Table, graph: ResolvedGraph, state: StateSnapshot, *, generation: int, command: Callable[[], str]
) -> Iterator[SetUpTable]:
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
    if existing is None or existing.generation != generation:
        stage: type[CreateTable | ResetTable] = CreateTable if existing is None else ResetTable
        why = f"emptied, as {table.identifier} is computed again"
        if existing is None:
            why = f"holds the rows that {table.identifier} quarantines"
        yield stage(
            dataset=identifier, explanation=why, table=quarantine, schema=schema, path=path, properties=properties
        )
    else:
        comparison = TableComparison(quarantine, existing, schema, properties, command=command)
        if changes := comparison.changes():
            yield AlterTable(
                dataset=identifier, explanation=changes.describe(), table=quarantine, path=path, changes=changes
            )


# The table of late rows is made at the first of them; what is planned for it is what becomes of its owner.
def late_table(owner: Table) -> StreamingTable:
    """Returns the table that keeps the late rows of `owner`."""
    return StreamingTable(
        identifier=late_rows_of(owner.identifier),
        location=owner.location,
        comment=f"Rows that came behind the watermark of {owner.identifier}",
    )


def late_table_properties(owner: Table, existing: TableState | None, generation: int) -> dict[str, str]:
    """Returns its properties. Readers get no more of its rows than of the owner's."""
    return {
        DATASET_TYPE: LATE_ROWS,
        GENERATION: str(generation),
        **privacy_changes(owner, existing),
        **protection_changes(owner, existing),
    }


def late_row_stages(owner: Table, state: StateSnapshot, *, generation: int) -> Iterator[SetUpTable]:
    """Yields what an existing table of late rows needs; it is emptied when its owner is computed again."""
    table = late_table(owner)
    existing = state.tables.get(table.identifier)
    if existing is None or existing.dataset_type != LATE_ROWS:
        return
    properties = late_table_properties(owner, existing, generation)
    if existing.generation != generation:
        yield ResetTable(
            dataset=table.identifier,
            explanation=f"emptied, as {owner.identifier} is computed again",
            table=table,
            schema=existing.schema,
            path=existing.path,
            properties=properties,
        )
        return
    comparison = TableComparison(table, existing, existing.schema, properties, command=str)
    if changes := comparison.changes():
        yield AlterTable(
            dataset=table.identifier,
            explanation=changes.describe(),
            table=table,
            path=existing.path,
            changes=changes,
        )
