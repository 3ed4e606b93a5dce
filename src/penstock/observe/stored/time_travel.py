"""Time travel in a query of DuckDB: Spark's `orders VERSION AS OF 3`, and DuckDB's `orders AT (VERSION => 3)`.

DuckDB travels in catalogs of its own only. So a table as of a version is one of another name, which has the version.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from penstock.errors import DefinitionError
from penstock.graph.sql.tokens import TRIVIA, Token, TokenKind, string_value, tokenise

_MARK: Final = "\x1f"
_UNITS: Final = ("VERSION", "TIMESTAMP")
_VALUES: Final = (TokenKind.NUMBER, TokenKind.STRING)

Moment = int | datetime
"""A version, or a time in UTC."""


def with_marked_names(statement: str) -> str:
    """Returns a statement in which `t VERSION AS OF 3` and `t TIMESTAMP AS OF '…'` are names of tables."""
    tokens = [token for token in tokenise(statement) if token.kind not in TRIVIA]
    parts, done = list[str](), 0
    for at in range(1, len(tokens) - 3):
        unit, as_, of, value = tokens[at : at + 4]
        if not (any(map(unit.is_word, _UNITS)) and as_.is_word("AS") and of.is_word("OF") and value.kind in _VALUES):
            continue
        table = tokens[at - 2] if tokens[at - 1].is_word("FOR") else tokens[at - 1]
        moment = string_value(value) if value.kind is TokenKind.STRING else value.text
        parts += [statement[done : table.start], duckdb_name(_marked(_name(table), unit.text.upper(), moment))]
        done = value.stop
    return "".join([*parts, statement[done:]])


def mark_names(table: dict[str, Any]) -> None:
    """Gives a BASE_TABLE of a parsed statement that has a version a name with it; it is still called as before."""
    if (clause := table.get("at_clause")) is not None:
        table["table_name"] = _marked(table["table_name"], clause["unit"].upper(), _constant(clause["expr"]))
        table["at_clause"] = None
        table.pop("qualified_name", None)  # the same once more, in newer versions
    name, mark, _ = table["table_name"].partition(_MARK)
    table["alias"] = table["alias"] or (name if mark else "")


def moment_of(name: str) -> tuple[str, Moment | None]:
    """Returns the name of a table and as of when it is asked for, None for now.

    Raises:
        DefinitionError: DUCKDB_QUERY_FAILED, the moment is none.
    """
    if _MARK not in name:
        return name, None
    table, unit, given = name.split(_MARK, 2)
    try:
        if unit == "VERSION":
            return table, int(given)
        moment = datetime.fromisoformat(given)
    except ValueError:
        expected = "a number" if unit == "VERSION" else "a time such as '2026-11-28 12:00:00'"
        raise _failed(f"{unit} AS OF takes {expected}, not '{given}'") from None
    return table, moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _constant(expression: Mapping[str, Any]) -> str:
    while expression.get("class") == "CAST":  # TIMESTAMP '…'
        expression = expression["child"]
    literal = expression.get("literal") or expression.get("value") or {}
    value = literal.get("text", literal.get("value"))
    if expression.get("class") != "CONSTANT" or value is None:
        raise _failed("AT takes a number or a text")
    return str(value)


def _name(token: Token) -> str:
    if token.kind is TokenKind.STRING and token.text.startswith('"'):
        return token.text[1:-1].replace('""', '"')
    if token.kind is not TokenKind.WORD:
        raise _failed(f"a table must stand before AS OF, not {token.text}")
    return token.text


def _marked(name: str, unit: str, moment: str) -> str:
    return _MARK.join((name, unit, moment))


def duckdb_name(name: str) -> str:
    """Returns a name as DuckDB's SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def _failed(detail: str) -> DefinitionError:
    return DefinitionError("DUCKDB_QUERY_FAILED", detail=detail)
