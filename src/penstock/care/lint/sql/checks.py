"""Looks at the SQL of a script with every rule that is about SQL; the words are those of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from penstock.care.lint.finding import Found
from penstock.care.lint.script import Script
from penstock.care.lint.sql import declarations, options, state
from penstock.care.lint.sql.found import SqlCheck, SqlFound
from penstock.care.lint.sql.statements import joined
from penstock.graph.sql.placed_text import PlacedText

SQL_CHECKS: Final[dict[str, SqlCheck]] = {**state.CHECKS, **options.CHECKS, **declarations.CHECKS}


def findings_in_sql(script: Script, texts: Sequence[PlacedText]) -> Iterator[tuple[Found, str]]:
    """Yields what is found in the SQL texts of a script, each with the name of its rule."""
    statements = list(joined(texts))
    marked = bool(script.calls("withWatermark"))  # a view in Python may be read in SQL
    for name, check in SQL_CHECKS.items():
        if not (marked and name.endswith("-without-watermark")):
            for each in check(statements):
                yield _found(script, each), name


def _found(script: Script, found: SqlFound) -> Found:
    assert found.place.line is not None
    column = (found.place.column or 1) - 1
    before = script.lines[found.place.line - 1][:column]
    return Found(found.place.line, len(before.encode()) + 1, found.evidence)
