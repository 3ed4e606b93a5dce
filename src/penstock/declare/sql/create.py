"""CREATE of tables, views and flows, and APPLY CHANGES INTO without a name."""

from __future__ import annotations

from penstock.declare.sql.change_clauses import read_change_clauses
from penstock.declare.sql.column_list import read_column_list
from penstock.declare.sql.statements import CreateChangeFlow, CreateFlow, CreateTable, CreateView, TableKind
from penstock.declare.sql.table_clauses import read_properties, read_table_clauses
from penstock.errors import DefinitionError, SourceLocation
from penstock.graph.sql.cursor import Cursor


# CREATE [OR REFRESH] [PRIVATE] STREAMING TABLE | MATERIALIZED VIEW, and their LIVE spellings.
def read_create_table(
    cursor: Cursor, name: str, kind: TableKind, *, place: SourceLocation, private: bool
) -> CreateTable:
    """Reads what follows the table's name.

    Raises:
        DefinitionError: PARSE_SYNTAX_ERROR, DUPLICATE_CLAUSES, UNSUPPORTED_DECLARATION.
    """
    columns = read_column_list(cursor)
    clauses = read_table_clauses(cursor)
    query, changes = None, None
    if kind is TableKind.STREAMING_TABLE and cursor.accept("FLOW"):
        cursor.expect("AUTO", "CDC")
        changes = read_change_clauses(cursor)
    elif cursor.accept("AS"):
        if cursor.at_end():
            raise cursor.error("a query")
        query = cursor.rest()
    elif kind is TableKind.MATERIALIZED_VIEW:
        raise cursor.error("AS and a query")
    return CreateTable(
        location=place,
        kind=kind,
        name=name,
        private=private,
        columns=columns,
        clauses=clauses,
        query=query,
        changes=changes,
    )


# CREATE [TEMPORARY] VIEW, and CREATE [TEMPORARY] [STREAMING] LIVE VIEW.
_KNOWN = ("AS", "COMMENT", "TBLPROPERTIES")


def read_create_view(cursor: Cursor, name: str, *, place: SourceLocation) -> CreateView:
    """Reads what follows the view's name; properties are read, and a view keeps none.

    Raises:
        DefinitionError: PARSE_SYNTAX_ERROR, UNSUPPORTED_DECLARATION.
    """
    columns = read_column_list(cursor, of_view=True)
    comment = None
    while not cursor.at("AS"):
        if cursor.accept("COMMENT"):
            comment = cursor.string()
        elif cursor.accept("TBLPROPERTIES"):
            read_properties(cursor)
        else:
            raise cursor.error("AS and a query, COMMENT or TBLPROPERTIES", known=_KNOWN)
    cursor.expect("AS")
    if cursor.at_end():
        raise cursor.error("a query")
    return CreateView(
        location=place, name=name, comment=comment, expectations=columns.expectations, query=cursor.rest()
    )


# CREATE FLOW name AS INSERT INTO …, or AS AUTO CDC INTO …; and APPLY CHANGES INTO without a name.
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
