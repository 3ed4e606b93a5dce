"""Whether a table holds the rows that it should: without that, its time means nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

_SHOWN = 3

Rows = Counter[tuple[Any, ...]]
"""The rows of a table, in any order, and how often each is there."""


def differences(what: str, found: Rows, expected: Rows) -> list[str]:
    """Returns how the rows of `what` differ from the expected ones, as lines to read; none when they are the same."""
    lines = []
    for word, rows in (("missing", expected - found), ("not expected", found - expected)):
        if rows:
            first = sorted(rows, key=str)[:_SHOWN]
            lines.append(f"{what}: {rows.total()} rows {word}, the first: {', '.join(map(str, first))}")
    return lines


def require_none(found: Iterable[str]) -> None:
    """Ends the benchmark, before it gives a number, if tables differ.

    Raises:
        SystemExit: with the differences.
    """
    if lines := list(found):
        raise SystemExit("the tables are wrong:\n  " + "\n  ".join(lines))
