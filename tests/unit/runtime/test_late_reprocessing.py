"""What late rows can be brought in, as far as no Spark is needed to know it."""

from __future__ import annotations

from penstock.runtime.late_reprocessing import read_to_different_ends

_PLACES = {"orders": "shop.orders", "refunds": "shop.refunds", "orders_2": "shop.orders"}


def test_a_table_at_two_places_has_to_be_read_to_the_same_end() -> None:
    same = {"orders": {"reservoirVersion": 4}, "orders_2": {"reservoirVersion": 4}, "refunds": {"reservoirVersion": 9}}
    assert read_to_different_ends(_PLACES, same) is None
    assert read_to_different_ends(_PLACES, {**same, "orders_2": {"reservoirVersion": 5}}) == "shop.orders"
    assert read_to_different_ends(_PLACES, {"orders": same["orders"]}) == "shop.orders", "its second place is new"
