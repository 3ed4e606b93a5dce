"""`ROW FILTER function ON (columns)` and `MASK function USING COLUMNS (columns)`."""

from __future__ import annotations

from penstock.graph.protection import ColumnMask, FunctionCall
from penstock.graph.sql.cursor import Cursor, unquoted
from penstock.graph.sql.names import quoted
from penstock.graph.sql.tokens import TokenKind

_LITERALS = {TokenKind.STRING, TokenKind.NUMBER}
_CONSTANTS = {"TRUE", "FALSE", "NULL"}


def read_row_filter(cursor: Cursor) -> FunctionCall:
    """Reads `function ON (argument, …)` behind ROW FILTER; an argument is a column or a literal.

    Raises:
        DefinitionError: PARSE_SYNTAX_ERROR.
    """
    function = _function(cursor)
    cursor.expect("ON")
    return FunctionCall(function, _arguments(cursor))


def read_mask(cursor: Cursor, column: str) -> ColumnMask:
    """Reads `MASK function [USING COLUMNS (argument, …)]`; the masked column is the first argument.

    Raises:
        DefinitionError: PARSE_SYNTAX_ERROR.
    """
    cursor.expect("MASK")
    function = _function(cursor)
    more = _arguments(cursor) if cursor.accept("USING", "COLUMNS") else ()
    name = unquoted((column,))[0]
    return ColumnMask(name, FunctionCall(function, (quoted(name), *more)))


def _function(cursor: Cursor) -> str:
    """A function has one name here: catalog and schema, which a local session does not have, are left out."""
    name = cursor.name("a function").rpartition(".")[2]
    return quoted(unquoted((name,))[0])


def _arguments(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect("(")
    found: list[str] = []
    while not cursor.accept(")"):
        if found:
            cursor.expect(",")
        token = cursor.peek()
        if token is not None and (token.kind in _LITERALS or token.text.upper() in _CONSTANTS):
            found.append(cursor.take().text)
        else:
            found.append(quoted(unquoted((cursor.name("a column or a literal"),))[0]))
    return tuple(found)
