"""Where the columns of a dataset come from, and which columns are made of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from penstock.graph.schema.column_lineage import InputColumn, OutputColumn
from penstock.observe.flows.definitions import FlowDefinition


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """`column` of `dataset`, and how it is used (`TRANSFORMATION`, …); a dataset or a source outside."""

    dataset: str
    column: str
    how: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnOrigin:
    """What a column is made of by all flows together. Not `resolved`: there can be more than `inputs`."""

    inputs: tuple[ColumnUse, ...]
    resolved: bool


def origins_of(columns: Iterable[str], flows: Collection[FlowDefinition]) -> dict[str, ColumnOrigin]:
    """Returns what each of a dataset's columns is made of; nothing when the log does not have all its flows.

    A flow that does not have a column, and whose columns are all recorded, leaves the column NULL.
    """
    lineages = [flow.lineage for flow in flows if flow.lineage is not None]
    if not lineages or len(lineages) < len(flows):
        return {}
    whole = not any(lineage.left_out for lineage in lineages)
    outputs: dict[str, list[OutputColumn]] = {}
    for lineage in lineages:
        for column in lineage.columns:
            outputs.setdefault(column.name.casefold(), []).append(column)
    found: dict[str, ColumnOrigin] = {}
    for name in columns:
        own = outputs.get(name.casefold(), [])
        resolved = bool(own) and all(column.resolved for column in own) and (whole or len(own) == len(lineages))
        found[name] = ColumnOrigin(_uses(each for column in own for each in column.inputs), resolved)
    return found


def rows_of(flows: Iterable[FlowDefinition]) -> ColumnOrigin:
    """Returns which columns decide on which rows a dataset has."""
    lineages = [flow.lineage for flow in flows if flow.lineage is not None]
    return ColumnOrigin(
        _uses(each for lineage in lineages for each in lineage.rows), all(lineage.rows_resolved for lineage in lineages)
    )


def readers_of(dataset: str, flows: Iterable[FlowDefinition]) -> dict[str, tuple[ColumnUse, ...]]:
    """Returns, by the columns of `dataset` in small letters, which columns of other datasets are made of them."""
    found: dict[str, list[ColumnUse]] = {}
    for flow in flows:
        for column in () if flow.lineage is None else flow.lineage.columns:
            for each in column.inputs:
                if each.dataset.casefold() == dataset.casefold():
                    how = tuple(kind.value for kind in each.how)
                    found.setdefault(each.column.casefold(), []).append(ColumnUse(flow.dataset, column.name, how))
    return {column: tuple(dict.fromkeys(uses)) for column, uses in found.items()}


def _uses(inputs: Iterable[InputColumn]) -> tuple[ColumnUse, ...]:
    found: dict[tuple[str, str], dict[str, None]] = {}
    for each in inputs:
        kinds = found.setdefault((each.dataset, each.column), {})
        kinds.update(dict.fromkeys(kind.value for kind in each.how))
    return tuple(ColumnUse(dataset, column, tuple(kinds)) for (dataset, column), kinds in found.items())
