"""FROM source KEYS (…) … SEQUENCE BY …: the clauses of AUTO CDC and APPLY CHANGES."""

from __future__ import annotations

from penstock.declare.sql.clauses import Clause, read_clauses
from penstock.declare.sql.statements import ChangeClauses
from penstock.errors import SourceLocation
from penstock.graph.elements import ALL_COLUMNS, ColumnSelection
from penstock.graph.sql.cursor import Cursor, unquoted
from penstock.graph.sql.placed_text import PlacedText
from penstock.graph.sql.tokens import Token


def read_change_clauses(cursor: Cursor, *, once: bool = False) -> ChangeClauses:
    """Reads FROM and all clauses behind it, in any order, to the end of the statement.

    Raises:
        DefinitionError: PARSE_SYNTAX_ERROR, DUPLICATE_CLAUSES, UNSUPPORTED_DECLARATION.
    """
    once = cursor.accept("ONCE") or once
    if not cursor.accept("FROM"):
        raise cursor.error("FROM", known=("FROM",))
    source = _source(cursor, streaming=not once)
    found = read_clauses(cursor, _CLAUSES, _REFUSED, expected="a clause of AUTO CDC", known=_KNOWN)
    for key, clause in (("keys", "KEYS (column, …)"), ("sequence_by", "SEQUENCE BY expression")):
        if key not in found:
            raise cursor.error(clause)
    return ChangeClauses(source, once, found)


def _source(cursor: Cursor, *, streaming: bool) -> PlacedText:
    """Reads `STREAM(name)`, `STREAM name`, `name` or `(query) [AS alias]`; returns the query that reads its events."""
    if cursor.at("("):
        query = cursor.group()
        if cursor.accept("AS") or not (cursor.at_end() or _at_clause(cursor)):
            cursor.name("an alias of the query")
        return query
    parenthesis = cursor.accept("STREAM", "(")
    if not parenthesis and not (cursor.at("STREAM") and _at_known_word(cursor.peek(1))):
        cursor.accept("STREAM")
    start = cursor.start
    name = cursor.name("the name of the table or view that holds the changes, or a query in parentheses")
    place = cursor.source.part(start, start + len(name))
    if parenthesis:
        cursor.expect(")")
    return place.replaced([(0, 0, "SELECT * FROM STREAM " if streaming else "SELECT * FROM ")])


def _at_known_word(token: Token | None) -> bool:
    return token is not None and any(token.is_word(word) for word in _KNOWN)


def _expression(cursor: Cursor, _: SourceLocation) -> str:
    start = cursor.start
    depth = 0
    while not cursor.at_end() and (depth or not _at_clause(cursor)):
        token = cursor.take()
        depth += {"(": 1, ")": -1}.get(token.text, 0)
    if cursor.start == start:
        raise cursor.error("an expression")
    return cursor.text_since(start)


def _at_clause(cursor: Cursor) -> bool:
    return any(cursor.at(*words.split()) for words in (*_CLAUSES, *_REFUSED))


def _selection(cursor: Cursor) -> ColumnSelection:
    if cursor.accept("*"):
        excluded = unquoted(cursor.names("a column")) if cursor.accept("EXCEPT") else ()
        return ColumnSelection(excluded, excluded=True)
    if cursor.at("("):
        return ColumnSelection(unquoted(cursor.names("a column")))
    names = [cursor.name("a column")]
    while cursor.accept(","):
        names.append(cursor.name("a column"))
    return ColumnSelection(unquoted(tuple(names)))


def _scd_type(cursor: Cursor, _: SourceLocation) -> int:
    token = cursor.peek()
    if token is None or token.text.strip("'\"") not in {"1", "2"}:
        raise cursor.error("1 or 2")
    return int(cursor.take().text.strip("'\""))


_CLAUSES: dict[str, Clause] = {
    "KEYS": ("keys", lambda cursor, _: unquoted(cursor.names("a key column"))),
    "WHERE": ("where", _expression),
    "IGNORE NULL UPDATES": (
        "ignore_null_updates",
        lambda cursor, _: _selection(cursor) if cursor.accept("ON") else ALL_COLUMNS,
    ),
    "APPLY AS DELETE WHEN": ("apply_as_deletes", _expression),
    "APPLY AS TRUNCATE WHEN": ("apply_as_truncates", _expression),
    "SEQUENCE BY": ("sequence_by", _expression),
    "COLUMNS TO UPDATE": (
        "columns_to_update",
        lambda cursor, _: unquoted((cursor.name("the column that names the columns"),))[0],
    ),
    "COLUMNS": ("columns", lambda cursor, _: _selection(cursor)),
    "STORED AS SCD TYPE": ("scd_type", _scd_type),
    "TRACK HISTORY ON": ("track_history", lambda cursor, _: _selection(cursor)),
}
_REFUSED = ("SYSTEM SEQUENCE BY", "STORED AS BITEMPORAL")
_KNOWN = tuple(dict.fromkeys(word for words in _CLAUSES for word in words.split()))
