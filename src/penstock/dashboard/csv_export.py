"""Figures and events as CSV, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Final

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n")


def to_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Returns the rows as CSV in UTF-8; None is an empty cell.

    A text that a spreadsheet would run as a formula (OWASP, "CSV Injection") gets an apostrophe before it; numbers stay
    numbers, also negative ones.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([_cell(name) for name in header])
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue().encode("utf-8", "replace")


def _cell(value: object) -> object:
    if isinstance(value, str) and value.lstrip(" ").startswith(_FORMULA):
        return f"'{value}"
    return "" if value is None else value
