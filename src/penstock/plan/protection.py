"""What readers of a table are kept from, as properties of the table. Pure."""

from __future__ import annotations

from penstock.graph.elements import Table
from penstock.graph.protection import MASKS, ROW_FILTER, protection_properties
from penstock.plan.state import PRIVATE, TableState


def privacy_changes(table: Table, existing: TableState | None) -> dict[str, str]:
    """Marks a private table for other pipelines of the storage; one that no longer is loses the mark."""
    if table.temporary or (existing is not None and PRIVATE in existing.properties):
        return {PRIVATE: str(table.temporary).lower()}
    return {}


def protection_changes(table: Table, existing: TableState | None) -> dict[str, str]:
    """Returns the declared protection; one that is no longer declared is taken from the existing table."""
    ended = {name: "" for name in (ROW_FILTER, MASKS) if existing is not None and existing.properties.get(name)}
    return ended | protection_properties(table.row_filter, table.masks)
