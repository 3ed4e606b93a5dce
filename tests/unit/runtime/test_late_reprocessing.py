"""What late rows can be brought in, as far as no Spark is needed to know it."""

from __future__ import annotations

from pathlib import Path

from penstock.events import EventLog, EventType, MaintenanceProgress, builders
from penstock.runtime.commands.late_reprocessing import read_to_different_ends
from penstock.runtime.commands.replay import newest_update

_PLACES = {"orders": "shop.orders", "refunds": "shop.refunds", "orders_2": "shop.orders"}


def test_a_table_at_two_places_has_to_be_read_to_the_same_end() -> None:
    same = {"orders": {"reservoirVersion": 4}, "orders_2": {"reservoirVersion": 4}, "refunds": {"reservoirVersion": 9}}
    assert read_to_different_ends(_PLACES, same) is None
    assert read_to_different_ends(_PLACES, {**same, "orders_2": {"reservoirVersion": 5}}) == "shop.orders"
    assert read_to_different_ends(_PLACES, {"orders": same["orders"]}) == "shop.orders", "its second place is new"


def test_what_is_done_between_runs_belongs_to_the_update_before(tmp_path: Path) -> None:
    storage = str(tmp_path)
    with EventLog.open(storage, pipeline_name="p", update_id="run") as log:
        log.append(EventType.CREATE_UPDATE, *builders.create_update(pipeline="p", cause="USER_ACTION", version="1"))
    with EventLog.open(storage, pipeline_name="p", update_id="optimize") as log:
        log.append(EventType.USER_ACTION, *builders.user_action("OPTIMIZE"))
        log.append(EventType.MAINTENANCE_PROGRESS, *builders.maintenance("s.t", MaintenanceProgress()))
    assert newest_update(storage) == "run"
