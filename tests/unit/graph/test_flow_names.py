"""Which flows a command means by a name."""

from __future__ import annotations

import pytest

from penstock.graph.flows.flow_names import flows_called
from penstock.graph.identifier import DefaultSchema, Identifier, names_of_recorded, recorded_name

OWN, SILVER, OTHER = Identifier("sales", "orders"), Identifier("sales", "orders", "silver"), Identifier("raw", "Clicks")
FLOWS = [(OWN, "orders"), (SILVER, "orders"), (SILVER, "backfill"), (OTHER, "live"), (OTHER, "Backfill")]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("orders", [0]),
        ("sales.orders", [0]),
        ("Bronze.sales.orders", [0]),
        ("silver.Sales.orders", [1, 2]),
        ("silver.sales.orders/BACKFILL", [2]),
        ("sales.orders/backfill", []),
        ("backfill", [2, 4]),
        ("live", [3]),
        ("raw.clicks", [3, 4]),
        ("clicks", []),
        ("copper.sales.orders", []),
        ("a.b.c.d", []),
        ("/orders", []),
    ],
)
def test_a_table_comes_before_flows_of_its_name(name: str, meant: list[int]) -> None:
    found = flows_called(name, FLOWS, default_schema=DefaultSchema("sales", "bronze"))
    assert found == [FLOWS[number] for number in meant]


@pytest.mark.parametrize(
    ("name", "spelt"),
    [
        ("bronze.sales.orders", "sales.orders"),
        ("BRONZE.`sales`.Orders", "sales.Orders"),
        ("silver.sales.orders", "silver.sales.orders"),
        ("orders", "orders"),
        ("*", "*"),
        ("a..b", "a..b"),
    ],
)
def test_a_name_is_spelt_as_in_the_log(name: str, spelt: str) -> None:
    assert recorded_name(name, "bronze") == spelt


def test_a_bare_name_is_of_no_other_catalog() -> None:
    assert names_of_recorded("sales.Orders") == ("sales.orders", "orders")
    assert names_of_recorded("silver.sales.orders") == ("silver.sales.orders",)
