from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.graph.identifier import Identifier
from penstock.storage import StorageLayout
from penstock.storage.layout import dataset_name, decode_part

LAYOUT = StorageLayout("/data/.penstock/")
ORDERS = Identifier("Shop", "Silver Orders")


def test_every_part_of_a_storage_has_its_place() -> None:
    assert LAYOUT.table(ORDERS) == "/data/.penstock/tables/shop/silver~20orders"
    assert LAYOUT.checkpoints(ORDERS, "Backfill") == "/data/.penstock/checkpoints/shop/silver~20orders/backfill"
    assert LAYOUT.checkpoint(ORDERS, "Backfill", 2) == "/data/.penstock/checkpoints/shop/silver~20orders/backfill/2"
    assert LAYOUT.schemas(ORDERS, "f", "S0") == "/data/.penstock/schemas/shop/silver~20orders/f/s0"
    assert LAYOUT.change_log(ORDERS, 2) == "/data/.penstock/changes/shop/silver~20orders/2"
    assert LAYOUT.snapshots(ORDERS, "F/1", 2) == "/data/.penstock/changes/shop/silver~20orders/2/snapshots/f~2F1"
    assert LAYOUT.events == "/data/.penstock/events"
    assert LAYOUT.lock == "/data/.penstock/lock.json"


def test_a_table_of_another_catalog_has_another_place() -> None:
    layout = StorageLayout("/srv/s")
    own, raw = Identifier("sales", "orders"), Identifier("Sales", "orders", "Raw")
    dotted = Identifier("raw.sales", "orders")
    assert layout.table(raw) == "/srv/s/tables/raw.sales/orders"
    assert (
        layout.notes(raw)[1] == layout.checkpoints(raw, "x").removesuffix("/x") == "/srv/s/checkpoints/raw.sales/orders"
    )
    for place in (layout.table, layout.changes, lambda each: layout.schemas(each, "f", "s")):
        assert len({place(each) for each in (own, raw, dotted)}) == 3
    for each in (own, raw, dotted):
        assert Identifier(*dataset_name(*layout.table(each).split("/")[-2:])) == each


def test_a_uri_keeps_its_scheme() -> None:
    assert StorageLayout("s3a://lake/orders").table(ORDERS) == "s3a://lake/orders/tables/shop/silver~20orders"


@pytest.mark.parametrize("name", ["..", ".", "a/b", "../../etc", "%2e%2e", "~2e", "a\x00b", "~"])
def test_a_name_cannot_leave_its_folder(name: str) -> None:
    path = LAYOUT.table(Identifier("s", name))
    part = path.removeprefix("/data/.penstock/tables/s/")
    assert "/" not in part
    assert "." not in part
    assert decode_part(part) == name


@given(st.text(min_size=1), st.text(min_size=1))
def test_names_share_a_path_only_when_they_are_equal(one: str, other: str) -> None:
    same_path = LAYOUT.table(Identifier("s", one)) == LAYOUT.table(Identifier("s", other))
    assert same_path == (Identifier("s", one) == Identifier("s", other))
