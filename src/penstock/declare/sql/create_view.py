"""CREATE [TEMPORARY] VIEW, and CREATE [TEMPORARY] [STREAMING] LIVE VIEW."""

from __future__ import annotations

from penstock.declare.sql.column_list import read_column_list
from penstock.declare.sql.cursor import Cursor
from penstock.declare.sql.statements import CreateView
from penstock.declare.sql.table_clauses import read_properties
from penstock.errors import SourceLocation

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
