from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.events import builders
from penstock.events.flows.column_lineage import MOST_INPUTS, lineage_of, lineage_to_json
from penstock.graph.schema.column_lineage import ColumnLineage, InputColumn, OutputColumn, Transformation

SUM = InputColumn("shop.orders", "amount", (Transformation.AGGREGATION, Transformation.CONDITIONAL))
KEY = InputColumn("kafka orders", "key", (Transformation.GROUP_BY,))
LINEAGE = ColumnLineage((OutputColumn("total", (SUM,)), OutputColumn("x", resolved=False)), (KEY,))


def _told(lineage: ColumnLineage | None) -> dict[str, Any]:
    _, details = builders.flow_definition("t", output_dataset="shop.t", flow_type="append", lineage=lineage)
    definition: dict[str, Any] = json.loads(json.dumps(details))["flow_definition"]
    return definition


def test_what_is_told_is_read_again() -> None:
    definition = _told(LINEAGE)
    assert definition["column_lineage"] == {
        "columns": [
            {
                "name": "total",
                "resolved": True,
                "inputs": [{"dataset": "shop.orders", "column": "amount", "how": ["AGGREGATION", "CONDITIONAL"]}],
            },
            {"name": "x", "resolved": False, "inputs": []},
        ],
        "columns_left_out": 0,
        "rows": {"resolved": True, "inputs": [{"dataset": "kafka orders", "column": "key", "how": ["GROUP_BY"]}]},
    }
    assert lineage_of(definition) == LINEAGE
    assert lineage_of(_told(None)) is None


@pytest.mark.parametrize(
    "damaged",
    [
        "x",
        {},
        {"columns": 1, "rows": 2, "columns_left_out": "x"},
        {"columns": [1, {"inputs": [2, {"how": ["LATER"]}]}], "rows": {"inputs": 3}},
    ],
    ids=str,
)
def test_what_another_version_tells_reads_as_far_as_it_goes(damaged: object) -> None:
    found = lineage_of({"column_lineage": damaged})
    assert found is None or not found.rows_resolved
    assert found is None or not any(column.resolved for column in found.columns)


def test_a_very_wide_query_does_not_fill_the_log() -> None:
    same = (Transformation.IDENTITY,)
    wide = ColumnLineage(
        tuple(OutputColumn(f"c{i}", (InputColumn("shop.a", f"c{i}", same),)) for i in range(MOST_INPUTS + 10))
    )
    found = lineage_of(_told(wide))
    assert found is not None
    assert (len(found.columns), found.left_out) == (MOST_INPUTS, 10)
    assert len(json.dumps(lineage_to_json(wide))) < 250_000
    every = tuple(InputColumn("shop.a", f"c{i}", same) for i in range(MOST_INPUTS))
    deep = ColumnLineage(tuple(OutputColumn(f"o{i}", every) for i in range(100)), (*every, SUM))
    found = lineage_of(_told(deep))
    assert found is not None
    assert (len(found.columns), found.left_out) == (1, 99)
    assert (len(found.rows), found.rows_resolved) == (MOST_INPUTS, False)
