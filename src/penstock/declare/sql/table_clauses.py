"""The clauses of a table between its columns and AS, in any order."""

from __future__ import annotations

from typing import Any

from penstock.declare.parameters import REFUSALS
from penstock.declare.sql.clauses import Clause, read_clauses
from penstock.declare.sql.protection import read_row_filter
from penstock.declare.sql.refusals import pass_over_clause, refuse_clause
from penstock.errors import SourceLocation
from penstock.graph.elements import RefreshPolicy
from penstock.graph.sql.cursor import Cursor, syntax_error, unquoted
from penstock.graph.sql.tokens import TokenKind, string_value


def read_table_clauses(cursor: Cursor) -> dict[str, Any]:
    """Reads all clauses up to AS or FLOW, which stays to be read; returns fields of a `Table` by name.

    Raises:
        DefinitionError: PARSE_SYNTAX_ERROR, DUPLICATE_CLAUSES, UNSUPPORTED_DECLARATION.
    """
    expected = "AS and a query, or a clause of the table"
    return read_clauses(cursor, _CLAUSES, _REFUSED, ends=("AS", "FLOW"), expected=expected, known=_KNOWN)


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


def _using(cursor: Cursor, place: SourceLocation) -> str:
    name = cursor.peek()
    if name is not None and not REFUSALS["format"].accepts(name.text.strip("`")):
        refuse_clause(place, "USING")
    cursor.name("DELTA")
    return "delta"


def _cluster_by(cursor: Cursor, place: SourceLocation) -> tuple[str, ...]:
    if cursor.accept("AUTO"):
        pass_over_clause(place, "CLUSTER BY AUTO")
        return ()
    return () if cursor.accept("NONE") else unquoted(cursor.names("a column"))


def _refresh_policy(cursor: Cursor, place: SourceLocation) -> RefreshPolicy:
    if cursor.accept("INCREMENTAL"):
        return RefreshPolicy.INCREMENTAL_STRICT if cursor.accept("STRICT") else RefreshPolicy.INCREMENTAL
    policy = cursor.name("AUTO, FULL or INCREMENTAL").casefold()
    if policy not in {RefreshPolicy.AUTO, RefreshPolicy.FULL}:
        raise syntax_error(place, f"'{policy}'", "AUTO, FULL or INCREMENTAL")
    return RefreshPolicy(policy)


def _schedule(clause: str) -> Clause:
    def pass_over(cursor: Cursor, place: SourceLocation) -> None:
        while (token := cursor.peek()) is not None and (
            token.kind in {TokenKind.NUMBER, TokenKind.STRING} or token.text.upper() in _OF_A_SCHEDULE
        ):
            cursor.take()
        pass_over_clause(place, clause)

    return None, pass_over


_OF_A_SCHEDULE = frozenset(
    "REFRESH EVERY CRON AT MOST TIME ZONE INTERVAL MINUTE MINUTES HOUR HOURS DAY DAYS WEEK WEEKS".split()  # noqa: SIM905
)
_CLAUSES: dict[str, Clause] = {
    "USING": ("format", _using),
    "PARTITIONED BY": ("partition_columns", lambda cursor, _: unquoted(cursor.names("a column"))),
    "CLUSTER BY": ("cluster_by", _cluster_by),
    "LOCATION": ("path", lambda cursor, _: cursor.string()),
    "COMMENT": ("comment", lambda cursor, _: cursor.string()),
    "TBLPROPERTIES": ("table_properties", lambda cursor, _: read_properties(cursor)),
    "REFRESH POLICY": ("refresh_policy", _refresh_policy),
    "WITH ROW FILTER": ("row_filter", lambda cursor, _: read_row_filter(cursor)),
    "ROW FILTER": ("row_filter", lambda cursor, _: read_row_filter(cursor)),
    "SCHEDULE": _schedule("SCHEDULE"),
    "TRIGGER ON UPDATE": _schedule("TRIGGER ON UPDATE"),
}
_REFUSED = ("OPTIONS", "DEFAULT COLLATION")
_KNOWN = (*(words.split()[0] for words in (*_CLAUSES, *_REFUSED)), "AS", "FLOW")
