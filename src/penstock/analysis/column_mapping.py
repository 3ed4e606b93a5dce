"""Delta stores a column with blanks or punctuation in its name when column mapping by name is on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from penstock.graph.elements import COLUMN_MAPPING, MaterializedView, StreamingTable
from penstock.graph.resolved import ResolvedFlow

_REFUSED: Final = frozenset(" ,;{}()\n\t=")


def with_column_mapping(
    table: StreamingTable | MaterializedView, flows: Iterable[ResolvedFlow]
) -> StreamingTable | MaterializedView:
    """Returns the table with column mapping where a column needs it, such as the `sum(amount)` of an aggregation.

    What the author has said of it stays. Without need there is none: not every reader of Delta tables knows it.
    """
    if COLUMN_MAPPING in table.table_properties or not any(names_to_map(flow) for flow in flows):
        return table
    return replace(table, table_properties={**table.table_properties, COLUMN_MAPPING: "name"})


def names_to_map(flow: ResolvedFlow) -> list[str]:
    """Returns the names of columns, and of fields in them, that Delta stores only by column mapping.

    Of change events all columns count, because an event that cannot be applied is stored whole, in quarantine.
    """
    return [name for name in _names(json.loads(flow.rows.json)) if not _REFUSED.isdisjoint(name)]


def _names(data_type: Any) -> Iterator[str]:
    """The names of all columns and of all fields inside them."""
    if not isinstance(data_type, dict):
        return
    for field in data_type.get("fields", ()):
        yield field["name"]
        yield from _names(field["type"])
    for inner in ("elementType", "keyType", "valueType"):
        yield from _names(data_type.get(inner))
