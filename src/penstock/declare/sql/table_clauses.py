"""The clauses of a table between its columns and AS, in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.declare.parameters import REFUSALS, WITHOUT_EFFECT
from penstock.declare.sql.cursor import Cursor, unquoted
from penstock.declare.sql.protection import read_row_filter
from penstock.declare.sql.refusals import pass_over_clause, refuse_clause
from penstock.errors import DefinitionError
from penstock.graph.sql.tokens import TokenKind, string_value


def read_table_clauses(cursor: Cursor) -> dict[str, Any]:
    """Reads all clauses up to AS or FLOW, which stays to be read; returns fields of a `Table` by name.

    Raises:
        DefinitionError: PARSE_SYNTAX_ERROR, DUPLICATE_CLAUSES, UNSUPPORTED_DECLARATION.
    """
    found: dict[str, Any] = {}
    seen: set[str] = set()
    while not cursor.at_end() and not any(cursor.at(word) for word in ("AS", "FLOW")):
        words = next((words for words in _CLAUSES if cursor.at(*words.split())), None)
        if words is None:
            raise cursor.error("AS and a query, or a clause of the table", known=_KNOWN)
        if words in seen:
            raise DefinitionError("DUPLICATE_CLAUSES", location=cursor.location, clause=words)
        seen.add(words)
        found.update(_CLAUSES[words](cursor))
    return found


def read_properties(cursor: Cursor) -> dict[str, str]:
    """Reads `(key = value, 'key' 'value', …)`; a key is a string or a dotted name, a value may be unquoted."""
    cursor.expect("(")
    properties: dict[str, str] = {}
    while not cursor.accept(")"):
        key = _text(cursor, "a property's name")
        cursor.accept("=")
        properties[key] = _property_value(cursor)
        if not cursor.accept(",") and not cursor.at(")"):
            raise cursor.error("',' or ')'")
    return properties


def _text(cursor: Cursor, what: str) -> str:
    token = cursor.peek()
    if token is not None and token.kind is TokenKind.STRING:
        return string_value(cursor.take())  # not all adjacent strings: the value can follow without a `=`
    return cursor.name(what)


def _property_value(cursor: Cursor) -> str:
    token = cursor.peek()
    if token is not None and token.kind is TokenKind.STRING:
        return cursor.string()
    if cursor.at(",") or cursor.at(")"):
        raise cursor.error("the property's value")
    start = cursor.start
    cursor.skip_to(",", ")")
    return cursor.text_since(start)


def _using(cursor: Cursor) -> dict[str, Any]:
    ahead = cursor.peek(1)
    if ahead is not None and not REFUSALS["format"].accepts(ahead.text.strip("`")):
        refuse_clause(cursor.location, "USING")
    cursor.expect("USING")
    cursor.name("DELTA")
    return {}


def _partitioned_by(cursor: Cursor) -> dict[str, Any]:
    cursor.expect("PARTITIONED", "BY")
    return {"partition_columns": unquoted(cursor.names("a column"))}


def _cluster_by(cursor: Cursor) -> dict[str, Any]:
    place = cursor.location
    cursor.expect("CLUSTER", "BY")
    if cursor.accept("AUTO"):
        pass_over_clause(place, "CLUSTER BY AUTO")
        return {}
    if cursor.accept("NONE"):
        return {}
    return {"cluster_by": unquoted(cursor.names("a column"))}


def _location(cursor: Cursor) -> dict[str, Any]:
    cursor.expect("LOCATION")
    return {"path": cursor.string()}


def _comment(cursor: Cursor) -> dict[str, Any]:
    cursor.expect("COMMENT")
    return {"comment": cursor.string()}


def _properties(cursor: Cursor) -> dict[str, Any]:
    cursor.expect("TBLPROPERTIES")
    return {"table_properties": read_properties(cursor)}


def _refresh_policy(cursor: Cursor) -> dict[str, Any]:
    place = cursor.location
    cursor.expect("REFRESH", "POLICY")
    if cursor.accept("INCREMENTAL"):
        cursor.accept("STRICT")
        pass_over_clause(place, "REFRESH POLICY")
        return {}
    policy = cursor.name("AUTO, FULL or INCREMENTAL").casefold()
    if not WITHOUT_EFFECT["refresh_policy"].accepts(policy):
        raise DefinitionError(
            "PARSE_SYNTAX_ERROR",
            location=place,
            found=f"'{policy}'",
            expected="AUTO, FULL or INCREMENTAL",
            suggestion="",
        )
    return {"always_refreshed": policy == "full"}


def _row_filter(cursor: Cursor) -> dict[str, Any]:
    return {"row_filter": read_row_filter(cursor)}


def _refusing(clause: str) -> Callable[[Cursor], dict[str, Any]]:
    def refuse(cursor: Cursor) -> dict[str, Any]:
        refuse_clause(cursor.location, clause)

    return refuse


def _schedule(clause: str) -> Callable[[Cursor], dict[str, Any]]:
    def pass_over(cursor: Cursor) -> dict[str, Any]:
        place = cursor.location
        cursor.expect(*clause.split())
        while (token := cursor.peek()) is not None and (
            token.kind in {TokenKind.NUMBER, TokenKind.STRING} or token.text.upper() in _OF_A_SCHEDULE
        ):
            cursor.take()
        pass_over_clause(place, clause)
        return {}

    return pass_over


_OF_A_SCHEDULE = frozenset(
    "REFRESH EVERY CRON AT MOST TIME ZONE INTERVAL MINUTE MINUTES HOUR HOURS DAY DAYS WEEK WEEKS".split()  # noqa: SIM905
)
_CLAUSES: dict[str, Callable[[Cursor], dict[str, Any]]] = {
    "USING": _using,
    "PARTITIONED BY": _partitioned_by,
    "CLUSTER BY": _cluster_by,
    "LOCATION": _location,
    "COMMENT": _comment,
    "TBLPROPERTIES": _properties,
    "REFRESH POLICY": _refresh_policy,
    "WITH ROW FILTER": _row_filter,
    "ROW FILTER": _row_filter,
    "SCHEDULE": _schedule("SCHEDULE"),
    "TRIGGER ON UPDATE": _schedule("TRIGGER ON UPDATE"),
    "OPTIONS": _refusing("OPTIONS"),
    "DEFAULT COLLATION": _refusing("DEFAULT COLLATION"),
}
_KNOWN = (*(words.split()[0] for words in _CLAUSES), "AS", "FLOW")
