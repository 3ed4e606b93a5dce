"""Keys in a declared schema say something to people; nothing checks them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.resolved import ResolvedGraph

_KEY = re.compile(r"\b(PRIMARY|FOREIGN)\s+KEY\b", re.IGNORECASE)


def key_not_enforced(graph: ResolvedGraph) -> Iterator[PenstockError]:
    """Reports that a PRIMARY KEY or FOREIGN KEY is not enforced."""
    for identifier, table in graph.tables.items():
        found = _KEY.search(table.schema) if isinstance(table.schema, str) else None
        if found is not None:
            yield DefinitionError(
                "KEY_NOT_ENFORCED",
                location=table.location,
                dataset=str(identifier),
                name=identifier,
                kind=f"{found.group(1).upper()} KEY",
            )
