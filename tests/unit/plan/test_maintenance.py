"""Which tables are due to be looked after."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest

from penstock.graph.identifier import Identifier
from penstock.graph.schema.table_schema import Schema
from penstock.plan.maintenance import due_maintenance, maintenance_of, next_record
from penstock.plan.state import CLUSTER_BY, GENERATION, TableState
from penstock.storage.maintenance_records import MaintenanceRecord

ORDERS = Identifier("shop", "Orders")
EMPTY: Mapping[str, str] = {}
DAY = 86_400.0
NOW = 100 * DAY


def table(version: int = 5, *, created: float = 0.0, properties: Mapping[str, str] = EMPTY) -> TableState:
    return TableState(
        "/orders", Schema('{"type":"struct","fields":[]}'), version, properties, (), None, int(created * 1000)
    )


def due(state: TableState, record: MaintenanceRecord | None = None) -> bool:
    records = {} if record is None else {"shop.orders": record}
    return bool(list(due_maintenance({ORDERS: state}, records, now=NOW, interval=DAY)))


def test_a_new_table_is_first_due_an_interval_after_it_was_created() -> None:
    assert not due(table(created=NOW - DAY / 2))
    assert due(table(created=NOW - DAY))


def test_then_each_interval_as_long_as_it_changes() -> None:
    assert due(table(6), MaintenanceRecord(NOW - DAY, 5, NOW - DAY))
    assert not due(table(6), MaintenanceRecord(NOW - DAY / 2, 5, NOW - DAY / 2))


def test_a_time_to_come_is_of_a_wrong_clock_and_does_not_wait_for_it() -> None:
    assert due(table(6), MaintenanceRecord(NOW + 365 * DAY, 5, NOW + 365 * DAY))


@pytest.mark.parametrize(
    ("retention", "days", "expected"), [("", 8, True), ("", 9, False), ("interval 20 days", 9, True)]
)
def test_a_table_at_rest_until_its_old_files_may_go(retention: str, days: int, expected: bool) -> None:
    properties = {"delta.deletedFileRetentionDuration": retention} if retention else {}
    record = MaintenanceRecord(NOW - DAY, 5, NOW - DAY - days * DAY + 1 - DAY * (not expected))
    assert due(table(5, properties=properties), record) is expected
    assert due(table(6, properties=properties), record)


def test_what_is_done_follows_the_properties() -> None:
    plain = maintenance_of(ORDERS, table(), explanation="")
    assert (plain.optimize, plain.z_order, plain.clustered, plain.retention) == (True, (), False, 7 * DAY)
    properties = {
        "Pipelines.AutoOptimize.zOrderCols": "customer, `day`",
        "pipelines.autoOptimize.managed": "FALSE",
        "delta.deletedFileRetentionDuration": "interval 2 weeks",
        CLUSTER_BY: '["customer"]',
        GENERATION: "3",
    }
    told = maintenance_of(ORDERS, table(properties=properties), explanation="why")
    assert (told.optimize, told.z_order, told.clustered) == (False, ("customer", "day"), True)
    assert (told.retention, told.generation, told.version, told.explanation) == (14 * DAY, 3, 5, "why")


def test_the_record_keeps_when_somebody_last_changed_the_table() -> None:
    first = next_record(None, before=5, after=6, now=NOW)
    assert first == MaintenanceRecord(NOW, 6, NOW)
    assert next_record(first, before=6, after=6, now=NOW + DAY) == MaintenanceRecord(NOW + DAY, 6, NOW)
    assert next_record(first, before=7, after=8, now=NOW + DAY) == MaintenanceRecord(NOW + DAY, 8, NOW + DAY)


def test_each_due_table_is_maintained_whatever_comes_before_it() -> None:
    recent, due_one = Identifier("shop", "recent"), Identifier("shop", "due")
    tables = {recent: table(created=NOW - 1), due_one: table(created=NOW - DAY), ORDERS: table(6)}
    stages = list(due_maintenance(tables, {"shop.orders": MaintenanceRecord(NOW - DAY, 5, 0)}, now=NOW, interval=DAY))
    assert [(stage.dataset, stage.path) for stage in stages] == [(due_one, "/orders"), (ORDERS, "/orders")]
    assert [stage.explanation.partition(":00 UTC: ")[0] for stage in stages] == [
        "created 1970-04-10 00",
        "last looked after 1970-04-10 00",
    ]


def test_table_created_in_this_instant_is_not_due() -> None:
    assert not due(table(created=NOW))


def test_creation_time_in_milliseconds_is_exact() -> None:
    far = 20_000 * DAY
    tables = {ORDERS: table(created=far)}
    assert not list(due_maintenance(tables, {}, now=far + DAY - 1, interval=DAY))
    assert len(list(due_maintenance(tables, {}, now=far + DAY, interval=DAY))) == 1


def test_times_in_an_explanation_are_utc_wherever_the_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        [stage] = due_maintenance({ORDERS: table(created=NOW)}, {}, now=NOW + DAY, interval=DAY)
    time.tzset()
    assert stage.explanation.startswith("created 1970-04-11 00:00 UTC: ")


@pytest.mark.parametrize(("over", "expected"), [(0, True), (1, False)])
def test_table_at_rest_is_maintained_up_to_a_day_after_its_files_may_go(over: float, *, expected: bool) -> None:
    at = NOW - DAY
    assert due(table(5), MaintenanceRecord(at, 5, at - 8 * DAY - over)) is expected
