"""The table of late rows is made at the first of them; what is planned for it is what becomes of its owner."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.graph.elements import StreamingTable, Table
from penstock.graph.late_rows import LATE_ROWS, late_rows_of
from penstock.plan.changes import TableComparison
from penstock.plan.protection import privacy_changes, protection_changes
from penstock.plan.stages import AlterTable, ResetTable
from penstock.plan.state import DATASET_TYPE, GENERATION, StateSnapshot, TableState


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


def late_row_stages(owner: Table, state: StateSnapshot, *, generation: int) -> Iterator[ResetTable | AlterTable]:
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
