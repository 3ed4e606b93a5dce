"""How a `flow_definition` records the lineage of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock.events.details import mapping, mappings, total
from penstock.graph.schema.column_lineage import ColumnLineage, InputColumn, OutputColumn, Transformation

MOST_INPUTS: Final = 2000
"""So many inputs of columns are recorded of a flow: some 250 kB. The columns behind them are counted."""

_KNOWN: Final = {each.value for each in Transformation}


def lineage_to_json(lineage: ColumnLineage) -> dict[str, Any]:
    """Returns the lineage as JSON-ready data; of a very wide query only the first columns."""
    columns: list[dict[str, Any]] = []
    room = MOST_INPUTS
    for column in lineage.columns:
        room -= max(1, len(column.inputs))
        if room < 0:
            break
        columns.append({"name": column.name, "resolved": column.resolved, "inputs": _inputs_to_json(column.inputs)})
    return {
        "columns": columns,
        "columns_left_out": lineage.left_out + len(lineage.columns) - len(columns),
        "rows": {
            "resolved": lineage.rows_resolved and len(lineage.rows) <= MOST_INPUTS,
            "inputs": _inputs_to_json(lineage.rows[:MOST_INPUTS]),
        },
    }


def lineage_of(definition: Mapping[str, Any]) -> ColumnLineage | None:
    """Returns the lineage of a `flow_definition`; None when it has none, as that of an older version."""
    recorded = mapping(definition, "column_lineage")
    if recorded is None:
        return None
    rows = mapping(recorded, "rows") or {}
    columns = tuple(
        OutputColumn(str(each.get("name")), _inputs(each), each.get("resolved") is True)
        for each in mappings(recorded, "columns")
    )
    return ColumnLineage(columns, _inputs(rows), rows.get("resolved") is True, total(recorded, "columns_left_out"))


def _inputs_to_json(inputs: Sequence[InputColumn]) -> list[dict[str, Any]]:
    return [
        {"dataset": each.dataset, "column": each.column, "how": [kind.value for kind in each.how]} for each in inputs
    ]


def _inputs(recorded: Mapping[str, Any]) -> tuple[InputColumn, ...]:
    return tuple(
        InputColumn(
            str(each.get("dataset")),
            str(each.get("column")),
            tuple(Transformation(kind) for kind in each.get("how") or () if kind in _KNOWN),
        )
        for each in mappings(recorded, "inputs")
    )
