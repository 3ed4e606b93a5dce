"""Delta stores column names without blanks and punctuation, unless column mapping is on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.elements import COLUMN_MAPPING
from penstock.graph.resolved import ResolvedGraph

_REFUSED = frozenset(" ,;{}()\n\t=")


def column_name_not_storable(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Refuses a name such as the `sum(amount)` of an aggregation without an alias, before a batch fails on it.

    Of change events all columns count, because an event that cannot be applied is stored whole, in quarantine.
    """
    for flow in graph.flows:
        table = graph.tables.get(flow.flow.target)
        if table is None or str(table.table_properties.get(COLUMN_MAPPING, "none")).casefold() != "none":
            continue
        for name in _names(json.loads(flow.rows.json)):
            if not _REFUSED.isdisjoint(name):
                yield DefinitionError(
                    "COLUMN_NAME_NOT_STORABLE",
                    location=flow.flow.location,
                    dataset=str(flow.flow.target),
                    column=name,
                )


def _names(data_type: Any) -> Iterator[str]:
    """The names of all columns and of all fields inside them."""
    if not isinstance(data_type, dict):
        return
    for field in data_type.get("fields", ()):
        yield field["name"]
        yield from _names(field["type"])
    for inner in ("elementType", "keyType", "valueType"):
        yield from _names(data_type.get(inner))
