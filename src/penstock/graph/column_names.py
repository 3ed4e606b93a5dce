"""Names of columns, and of fields in them, that Delta stores only with column mapping. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

_REFUSED: Final = frozenset(" ,;{}()\n\t=")


def names_to_map(data_type: Any) -> list[str]:
    """Returns the names with blanks or punctuation in a type that is given in the form of Spark's JSON."""
    return [name for name in _names(data_type) if not _REFUSED.isdisjoint(name)]


def _names(data_type: Any) -> Iterator[str]:
    """The names of all columns and of all fields inside them."""
    if not isinstance(data_type, dict):
        return
    for field in data_type.get("fields", ()):
        yield field["name"]
        yield from _names(field["type"])
    for inner in ("elementType", "keyType", "valueType"):
        yield from _names(data_type.get(inner))
