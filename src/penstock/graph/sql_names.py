"""Names and texts in SQL, whatever they hold."""

from __future__ import annotations


def quoted(name: str) -> str:
    """Returns one part of a name in backquotes, so that SQL takes it as it is."""
    return f"`{name.replace('`', '``')}`"


def literal(text: object) -> str:
    """Returns a text as a string literal of Spark."""
    return "'" + str(text).replace("\\", "\\\\").replace("'", "\\'") + "'"
