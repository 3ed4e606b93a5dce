"""Names and texts in SQL, whatever they hold."""

from __future__ import annotations

import re
from typing import Final

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
