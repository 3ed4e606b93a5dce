"""FROM source KEYS (…) … SEQUENCE BY …: the clauses of AUTO CDC and APPLY CHANGES."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.declare.sql.cursor import Cursor, unquoted
from penstock.declare.sql.refusals import refuse_clause
from penstock.declare.sql.statements import ChangeClauses
from penstock.errors import DefinitionError
from penstock.graph.elements import ALL_COLUMNS, ColumnSelection
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
    found: dict[str, Any] = {}
    seen: set[str] = set()
    while not cursor.at_end():
        words = next((words for words in (*_CLAUSES, *_REFUSED) if cursor.at(*words.split())), None)
        if words in _REFUSED:
            refuse_clause(cursor.location, words)
        if words is None:
            raise cursor.error("a clause of AUTO CDC", known=_KNOWN)
        if words in seen:
            raise DefinitionError("DUPLICATE_CLAUSES", location=cursor.location, clause=words)
        seen.add(words)
        cursor.expect(*words.split())
        found.update(_CLAUSES[words](cursor))
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


def _keys(cursor: Cursor) -> dict[str, Any]:
    return {"keys": unquoted(cursor.names("a key column"))}


def _ignore_null_updates(cursor: Cursor) -> dict[str, Any]:
    if cursor.accept("ON"):
        return {"ignore_null_updates": _selection(cursor)}
    return {"ignore_null_updates": ALL_COLUMNS}


def _expression(key: str) -> Callable[[Cursor], dict[str, Any]]:
    def read(cursor: Cursor) -> dict[str, Any]:
        start = cursor.start
        depth = 0
        while not cursor.at_end() and (depth or not _at_clause(cursor)):
            token = cursor.take()
            depth += {"(": 1, ")": -1}.get(token.text, 0)
        text = cursor.text_since(start)
        if cursor.start == start:
            raise cursor.error("an expression")
        return {key: text}

    return read


def _at_clause(cursor: Cursor) -> bool:
    return any(cursor.at(*words.split()) for words in (*_CLAUSES, *_REFUSED))


def _columns(cursor: Cursor) -> dict[str, Any]:
    return {"columns": _selection(cursor)}


def _columns_to_update(cursor: Cursor) -> dict[str, Any]:
    [name] = unquoted((cursor.name("the column that names the columns"),))
    return {"columns_to_update": name}


def _track_history(cursor: Cursor) -> dict[str, Any]:
    return {"track_history": _selection(cursor)}


def _selection(cursor: Cursor) -> ColumnSelection:
    if cursor.accept("*"):
        cursor.expect("EXCEPT")
        return ColumnSelection(unquoted(cursor.names("a column")), excluded=True)
    if cursor.at("("):
        return ColumnSelection(unquoted(cursor.names("a column")))
    names = [cursor.name("a column")]
    while cursor.accept(","):
        names.append(cursor.name("a column"))
    return ColumnSelection(unquoted(tuple(names)))


def _scd_type(cursor: Cursor) -> dict[str, Any]:
    token = cursor.peek()
    if token is None or token.text.strip("'\"") not in {"1", "2"}:
        raise cursor.error("1 or 2")
    return {"scd_type": int(cursor.take().text.strip("'\""))}


_CLAUSES: dict[str, Callable[[Cursor], dict[str, Any]]] = {
    "KEYS": _keys,
    "WHERE": _expression("where"),
    "IGNORE NULL UPDATES": _ignore_null_updates,
    "APPLY AS DELETE WHEN": _expression("apply_as_deletes"),
    "APPLY AS TRUNCATE WHEN": _expression("apply_as_truncates"),
    "SEQUENCE BY": _expression("sequence_by"),
    "COLUMNS TO UPDATE": _columns_to_update,
    "COLUMNS": _columns,
    "STORED AS SCD TYPE": _scd_type,
    "TRACK HISTORY ON": _track_history,
}
_REFUSED = ("SYSTEM SEQUENCE BY", "STORED AS BITEMPORAL")
_KNOWN = tuple(dict.fromkeys(word for words in _CLAUSES for word in words.split()))
