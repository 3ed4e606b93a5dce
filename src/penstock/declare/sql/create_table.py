"""CREATE [OR REFRESH] [PRIVATE] STREAMING TABLE | MATERIALIZED VIEW, and their LIVE spellings."""

from __future__ import annotations

from penstock.declare.sql.change_clauses import read_change_clauses
from penstock.declare.sql.column_list import read_column_list
from penstock.declare.sql.cursor import Cursor
from penstock.declare.sql.statements import CreateTable, TableKind
from penstock.declare.sql.table_clauses import read_table_clauses
from penstock.errors import SourceLocation


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
