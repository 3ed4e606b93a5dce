"""Printing rows of a table, as a table for people or as JSON objects for programs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from penstock.cli.screen.console import print_json, stdout, table

if TYPE_CHECKING:
    from penstock.observe.stored.tables import TableRows


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, as_json: bool, title: str = "") -> None:
    """Prints rows to stdout: for `as_json` one list of objects, with a repeated column name made distinct."""
    if as_json:
        keys = _distinct(columns)
        print_json([dict(zip(keys, row, strict=True)) for row in rows])
        return
    stdout().print(rows_table(columns, rows, title=title))


def rows_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, title: str = "") -> Any:
    """Builds the table in which people read rows."""
    numeric = [_is_numeric([row[position] for row in rows]) for position in range(len(columns))]
    shown = [[cell(value) for value in row] for row in rows]
    return table(list(zip(columns, numeric, strict=True)), shown, title=title)


def _distinct(columns: Sequence[str]) -> list[str]:
    seen: dict[str, int] = {}
    keys: list[str] = []
    for column in columns:
        seen[column] = seen.get(column, 0) + 1
        keys.append(column if seen[column] == 1 else f"{column}_{seen[column]}")
    return keys


def _is_numeric(values: Sequence[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)


def cell(value: Any) -> str:
    """Returns a value as people read it in a table."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case float():
            return f"{value:.15g}" if math.isfinite(value) else _not_finite(value)
        case Decimal():
            return f"{value:f}"
        case datetime():
            return value.isoformat(sep=" ", timespec="seconds" if value.microsecond == 0 else "microseconds")
        case bytes():
            return f"0x{value.hex()}"
        case Mapping():
            return "{" + ", ".join(f"{key}: {cell(each)}" for key, each in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(cell, value)) + "]"
        case _:
            return str(value)


def _not_finite(value: float) -> str:
    from penstock.storage.cell_values import float_text  # here, for help and the version need no storage

    return float_text(value)


def rows_with_origin(
    content: TableRows, reserved: str, before: Mapping[str, str], behind: Mapping[str, str], source: str
) -> tuple[list[str], list[list[Any]]]:
    """Returns headings and rows of a quarantine or of late rows, without what only programs need.

    Columns whose names do not begin with `reserved` are those of the rows themselves. `before` and `behind` have the
    headings of those that come before and behind them; last comes where a row is from, which the column `source` has.
    """
    position = {name: index for index, name in enumerate(content.columns)}
    own = [name for name in content.columns if not name.startswith(reserved)]
    shown = [*before, *own, *behind]
    rows = [[*(row[position[name]] for name in shown), _origin(row[position[source]])] for row in content.rows]
    return [*before.values(), *own, *behind.values(), "source"], rows


def _origin(source: Mapping[str, Any] | None) -> str:
    """Returns in short where a row comes from: the name of a file, or topic, partition and offset."""
    known = source or {}
    if known.get("file_path"):
        return str(known["file_path"]).rpartition("/")[2]
    if known.get("topic") is not None:
        return f"{known['topic']}/{known.get('partition')}/{known.get('offset')}"
    return ""
