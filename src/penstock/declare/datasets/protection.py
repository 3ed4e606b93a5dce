"""Row filters and column masks in the parameters of Python declarations."""

from __future__ import annotations

import re
from typing import Any

from penstock.declare.declaration import Declaration
from penstock.declare.sql.column_list import read_column_list
from penstock.declare.sql.protection import read_row_filter
from penstock.errors import DefinitionError
from penstock.graph.protection import ColumnMask, FunctionCall
from penstock.graph.sql.cursor import Cursor
from penstock.graph.sql.placed_text import PlacedText

_MASK = re.compile(r"\bMASK\b", re.IGNORECASE)


def row_filter_of(call: Declaration, text: str | None) -> FunctionCall | None:
    """Returns what `row_filter="ROW FILTER function ON (columns)"` says; a mistake is recorded."""
    if text is None:
        return None
    cursor = Cursor(_placed(call, text))
    try:
        cursor.accept("WITH")
        cursor.expect("ROW", "FILTER")
        found = read_row_filter(cursor)
        cursor.finish("the end of row_filter")
    except DefinitionError as error:
        call.error("INVALID_ROW_FILTER", text=text, reason=f"expected: {error.facts['expected']}")
        return None
    return found


def masks_of(call: Declaration, schema: Any) -> tuple[Any, tuple[ColumnMask, ...]]:
    """Returns a declared schema without its MASK clauses, and these; a mistake is recorded."""
    if not isinstance(schema, str) or not _MASK.search(schema):
        return schema, ()
    try:
        columns = read_column_list(Cursor(_placed(call, f"({schema})")))
    except DefinitionError as error:
        call.error(error.condition, **error.facts)
        return None, ()
    return columns.schema, columns.masks


def _placed(call: Declaration, text: str) -> PlacedText:
    """The text at the line of its call: a position inside of a Python string means nothing to its author."""
    return PlacedText.of(text, call.location.path, line=call.location.line or 1)
