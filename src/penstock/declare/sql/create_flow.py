"""CREATE FLOW name AS INSERT INTO …, or AS AUTO CDC INTO …; and APPLY CHANGES INTO without a name."""

from __future__ import annotations

from penstock.declare.sql.change_clauses import read_change_clauses
from penstock.declare.sql.cursor import Cursor
from penstock.declare.sql.statements import CreateChangeFlow, CreateFlow
from penstock.errors import DefinitionError, SourceLocation


def read_create_flow(cursor: Cursor, name: str, *, place: SourceLocation) -> CreateFlow | CreateChangeFlow:
    """Reads what follows the flow's name. Rows are inserted by the names of their columns, always.

    Raises:
        DefinitionError: PARSE_SYNTAX_ERROR, DUPLICATE_CLAUSES.
    """
    comment = cursor.string() if cursor.accept("COMMENT") else None
    if not cursor.accept("AS"):
        raise cursor.error("COMMENT or AS", known=("COMMENT", "AS"))
    if cursor.at("AUTO") or cursor.at("APPLY"):
        return read_change_flow(cursor, name, comment, place=place)
    if not cursor.accept("INSERT"):
        raise cursor.error("INSERT INTO or AUTO CDC INTO", known=("INSERT", "AUTO", "APPLY"))
    if not cursor.accept("INTO"):
        raise cursor.error("INTO", known=("INTO",))
    once = _once(cursor)
    cursor.accept("TABLE")
    target = cursor.name("the streaming table that the flow fills")
    cursor.accept("BY", "NAME")
    if cursor.at_end():
        raise with_dataset(cursor.error("a query"), target)
    return CreateFlow(location=place, name=name, target=target, comment=comment, once=once, query=cursor.rest())


def read_change_flow(
    cursor: Cursor, name: str | None, comment: str | None, *, place: SourceLocation
) -> CreateChangeFlow:
    """Reads AUTO CDC [ONCE] INTO target …, or APPLY CHANGES [ONCE] INTO target …."""
    word = "CDC" if cursor.accept("AUTO") else "CHANGES"
    if word == "CHANGES":
        cursor.expect("APPLY")
    cursor.expect(word)
    once = _once(cursor)
    cursor.expect("INTO")
    target = cursor.name("the streaming table that the flow fills")
    try:
        changes = read_change_clauses(cursor, once=once)
    except DefinitionError as error:
        raise with_dataset(error, target) from None
    return CreateChangeFlow(location=place, name=name, target=target, comment=comment, changes=changes)


def with_dataset(error: DefinitionError, name: str) -> DefinitionError:
    """Returns `error` with the dataset that it concerns."""
    error.dataset = error.dataset or name
    return error


def _once(cursor: Cursor) -> bool:
    # A table called `once` is followed by its query, not by another name.
    return not cursor.at("ONCE", "BY") and cursor.accept("ONCE")
