"""Clauses that stand in any order, each once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from penstock.declare.sql.refusals import refuse_clause
from penstock.errors import DefinitionError, SourceLocation
from penstock.graph.sql.cursor import Cursor

Clause = tuple[str | None, Callable[[Cursor, SourceLocation], Any]]
"""The field that a clause sets, if any, and what reads its value behind its words, which stand at a place."""


def read_clauses(
    cursor: Cursor,
    clauses: Mapping[str, Clause],
    refused: Collection[str],
    *,
    ends: Iterable[str] = (),
    expected: str,
    known: Iterable[str],
) -> dict[str, Any]:
    """Reads clauses to the end of the statement, or up to one of the words `ends`; returns their values by field.

    `clauses` and `refused` are known by their words, longer ones first; `expected` and `known` are as for
    `Cursor.error`, where something else stands.

    Raises:
        DefinitionError: PARSE_SYNTAX_ERROR, DUPLICATE_CLAUSES, UNSUPPORTED_DECLARATION.
    """
    found: dict[str, Any] = {}
    seen: set[str] = set()
    while not cursor.at_end() and not any(cursor.at(word) for word in ends):
        place = cursor.location
        words = next((words for words in (*clauses, *refused) if cursor.at(*words.split())), None)
        if words is None:
            raise cursor.error(expected, known=known)
        if words in refused:
            refuse_clause(place, words)
        if words in seen:
            raise DefinitionError("DUPLICATE_CLAUSES", location=place, clause=words)
        seen.add(words)
        cursor.expect(*words.split())
        field, read = clauses[words]
        value = read(cursor, place)
        if field is not None:
            found[field] = value
    return found
