"""Names and columns of quarantines."""

from __future__ import annotations

import json

import pytest

from penstock.errors import SourceLocation
from penstock.graph.companions.quarantine import owner_of, quarantine_of, quarantine_schema
from penstock.graph.companions.quarantining import declared_owner
from penstock.graph.dataflow_graph import DataflowGraph
from penstock.graph.elements import ChangeFlow, Expectation, OnViolation, UndecidedTable
from penstock.graph.identifier import Identifier
from penstock.graph.schema.table_schema import Schema

_PLACE = SourceLocation("orders.py", 3)


def _graph() -> DataflowGraph:
    rules = {
        "Orders": (Expectation("positive", "id > 0", OnViolation.QUARANTINE, _PLACE),),
        "visits": (Expectation("positive", "id > 0", OnViolation.DROP, _PLACE),),
        "customers": (),
    }
    tables = [
        UndecidedTable(identifier=Identifier("shop", name), location=_PLACE, expectations=each)
        for name, each in rules.items()
    ]
    flow = ChangeFlow(
        name="changes",
        target=Identifier("shop", "customers"),
        function=lambda: None,
        location=_PLACE,
        keys=("id",),
        sequence_by="at",
    )
    return DataflowGraph.of(tables, [flow])


def _schema(**columns: str) -> Schema:
    fields = [{"name": n, "type": t, "nullable": False, "metadata": {"comment": "c"}} for n, t in columns.items()]
    return Schema(json.dumps({"type": "struct", "fields": fields}))


def test_the_name_leads_back_to_the_table() -> None:
    orders = Identifier("shop", "orders")
    assert owner_of(quarantine_of(orders)) == orders
    assert owner_of(Identifier("shop", "ORDERS__Quarantine")) == orders
    assert owner_of(orders) is None
    assert owner_of(Identifier("shop", "__quarantine")) is None


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("orders__quarantine", "Orders"),
        ("customers__QUARANTINE", "customers"),
        ("visits__quarantine", None),
        ("clicks__quarantine", None),
        ("orders", None),
    ],
)
def test_a_dataset_has_one_by_a_rule_or_by_change_flows(name: str, owner: str | None) -> None:
    found = declared_owner(_graph(), Identifier("shop", name))
    assert (None if found is None else found.name) == owner
    assert declared_owner(_graph(), Identifier("other", name)) is None


def test_columns_are_those_of_all_queries_then_its_own() -> None:
    first, second = _schema(id="long", at="string"), _schema(ID="string", amount="long", _quarantine_id="long")
    schema = quarantine_schema([first, second])
    assert schema.names[:5] == ("id", "at", "amount", "_quarantine_id", "_quarantine_rules")
    assert [str(column.type) for column in schema.columns[:4]] == ["bigint", "string", "bigint", "string"]
    assert all(column.nullable and column.comment is None for column in schema.columns)
    assert schema.names.count("_quarantine_id") == 1
