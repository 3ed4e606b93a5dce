"""Names and texts in SQL, whatever they hold, and the names that Delta stores only with column mapping."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

_PART: Final = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")


def quoted(name: str) -> str:
    """Returns one part of a name in backquotes, so that SQL takes it as it is."""
    return f"`{name.replace('`', '``')}`"


def name_parts(name: str) -> list[str]:
    """Returns the parts of a name between whose dots parts may stand in backquotes."""
    found = _PART.findall(name)
    return [inner.replace("``", "`") if inner else part for inner, part in found]


def literal(text: object) -> str:
    """Returns a text as a string literal of Spark."""
    return "'" + str(text).replace("\\", "\\\\").replace("'", "\\'") + "'"


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
