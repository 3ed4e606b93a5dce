"""SET key = value, and a SET that only shows a value."""

from __future__ import annotations

from penstock.declare.sql.cursor import Cursor
from penstock.declare.sql.statements import SetParameter
from penstock.errors import DefinitionError


def read_set(cursor: Cursor) -> SetParameter:
    """Reads what follows SET. The value is everything behind `=`, quotes included, as on Databricks.

    Raises:
        DefinitionError: PARSE_SYNTAX_ERROR, UNSUPPORTED_DECLARATION.
    """
    if cursor.at("TIME", "ZONE"):
        raise _refused(cursor, "SET TIME ZONE", "Write SET spark.sql.session.timeZone = zone")
    if cursor.at("VAR") or cursor.at("VARIABLE"):
        raise _refused(cursor, "SET VARIABLE", "Write SET key = value, and ${key} where the value is used")
    if cursor.at_end():
        raise cursor.error("a key")
    start = cursor.start
    while not cursor.at_end() and not cursor.at("="):
        cursor.take()
    key = cursor.text_since(start).strip("`")
    if any(blank in key for blank in " \t\n"):
        raise DefinitionError(
            "PARSE_SYNTAX_ERROR",
            location=cursor.source.location(start),
            found=f"'{key}'",
            expected="key = value",
            suggestion="",
        )
    if not cursor.accept("="):
        return SetParameter(key, None)
    return SetParameter(key, cursor.rest().text if not cursor.at_end() else "")


def _refused(cursor: Cursor, name: str, alternative: str) -> DefinitionError:
    return DefinitionError(
        "UNSUPPORTED_DECLARATION",
        location=cursor.location,
        name=name,
        reason="a pipeline's SQL file sets configuration keys only",
        alternative=alternative,
    )
