"""The columns of a dataset's page: where each comes from and which columns are made of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.observe.column_lineage import ColumnOrigin, ColumnUse, origins_of, readers_of, rows_of
from penstock.observe.definitions import DatasetDefinition
from penstock.observe.flow_definitions import FlowDefinition

_SHOWN: Final = 8
_WORDS: Final = {
    "TRANSFORMATION": "computed",
    "AGGREGATION": "aggregated",
    "JOIN": "join",
    "GROUP_BY": "grouping",
    "FILTER": "filter",
    "SORT": "order",
    "WINDOW": "window",
    "CONDITIONAL": "condition",
}


@dataclass(frozen=True, slots=True)
class UseRow:
    """A column elsewhere; `words` say how it is used, empty: as it is. With `linked` the dataset has a page."""

    dataset: str
    column: str
    words: str
    linked: bool


@dataclass(frozen=True, slots=True)
class UsesRow:
    """The first columns of a list, and how many `more` there are. Not `resolved`: there can be others besides."""

    shown: tuple[UseRow, ...]
    more: int
    resolved: bool = True


@dataclass(frozen=True, slots=True)
class ColumnRow:
    """One column; `made_of` is None when the log does not have it."""

    name: str
    type: str
    comment: str | None
    made_of: UsesRow | None
    read_by: UsesRow


@dataclass(frozen=True, slots=True)
class ColumnsTable:
    """The columns of a dataset; `rows` are the columns that decide on which rows it has."""

    columns: tuple[ColumnRow, ...]
    rows: UsesRow | None

    @property
    def traced(self) -> bool:
        """Whether the log has where columns come from."""
        return any(column.made_of is not None for column in self.columns)

    @property
    def read(self) -> bool:
        """Whether a column is known to be read."""
        return any(column.read_by.shown for column in self.columns)


def columns_table(
    definition: DatasetDefinition, flows: Sequence[FlowDefinition], datasets: Collection[str]
) -> ColumnsTable:
    """Returns the columns of a dataset.

    Args:
        definition: of the dataset.
        flows: all flows of the pipeline.
        datasets: the names of those that have a page.
    """
    pages = {name.casefold() for name in datasets}
    own = [flow for flow in flows if flow.dataset.casefold() == definition.name.casefold()]
    origins = origins_of((column.name for column in definition.columns), own)
    readers = readers_of(definition.name, (flow for flow in flows if flow.flow_type != "view"))

    def made_of(origin: ColumnOrigin | None) -> UsesRow | None:
        return None if origin is None else _uses(origin.inputs, pages, resolved=origin.resolved)

    columns = tuple(
        ColumnRow(
            column.name,
            column.type,
            column.comment,
            made_of(origins.get(column.name)),
            _uses(readers.get(column.name.casefold(), ()), pages),
        )
        for column in definition.columns
    )
    return ColumnsTable(columns, made_of(rows_of(own)) if origins else None)


def _uses(uses: Sequence[ColumnUse], pages: Collection[str], *, resolved: bool = True) -> UsesRow:
    shown = tuple(
        UseRow(
            use.dataset,
            use.column,
            ", ".join(_WORDS[kind] for kind in use.how if kind in _WORDS),
            linked=use.dataset.casefold() in pages,
        )
        for use in uses[:_SHOWN]
    )
    return UsesRow(shown, max(0, len(uses) - _SHOWN), resolved)
