"""Row filters and column masks: what readers of a table get to see. Frozen, and free of Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

ROW_FILTER = "penstock.row_filter"
MASKS = "penstock.masks"
PRIVATE = "penstock.private"


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call of a SQL function on columns and literals; all three parts are SQL text, names quoted."""

    function: str
    arguments: tuple[str, ...]

    @property
    def sql(self) -> str:
        """The expression."""
        return f"{self.function}({', '.join(self.arguments)})"


@dataclass(frozen=True, slots=True)
class ColumnMask:
    """What readers get in place of a column's value."""

    column: str
    call: FunctionCall


@dataclass(frozen=True, slots=True)
class Protection:
    """How readers see a stored table: the rows for which `row_filter` is TRUE, columns replaced by `masks`.

    Both are SQL expressions over the table's columns, masks by column name.
    """

    row_filter: str | None
    masks: Mapping[str, str]


def protection_properties(row_filter: FunctionCall | None, masks: Iterable[ColumnMask]) -> dict[str, str]:
    """Returns the table properties in which a protection is kept, so that it holds without the pipeline's files."""
    properties = {} if row_filter is None else {ROW_FILTER: row_filter.sql}
    if by_column := {mask.column: mask.call.sql for mask in masks}:
        properties[MASKS] = json.dumps(by_column, sort_keys=True)
    return properties


def is_restricted(properties: Mapping[str, str]) -> bool:
    """Whether a table is private, or has a row filter or masks, be they damaged: its files are not for every reader."""
    return properties.get(PRIVATE) == "true" or bool(properties.get(ROW_FILTER) or properties.get(MASKS))


def stored_protection(properties: Mapping[str, str]) -> Protection | None:
    """Returns the protection in a table's properties, None for an open table.

    Raises:
        ValueError: a property that was damaged; the table must not be shown.
    """
    row_filter, masks = properties.get(ROW_FILTER) or None, properties.get(MASKS) or "{}"
    by_column = json.loads(masks)
    if not isinstance(by_column, dict):
        raise ValueError(f"the table property {MASKS} is damaged")  # noqa: TRY004 - bad data, not a bad call
    return Protection(row_filter, by_column) if row_filter or by_column else None
