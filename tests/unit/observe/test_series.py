from __future__ import annotations

from tests.projected import projected
from tests.recorded.build import FIRST_UPDATE, RECORDED, SECOND_UPDATE

from penstock.events import EventReader
from penstock.observe.definitions import DefinitionProjection
from penstock.observe.flows.series import FIGURES, SeriesProjection


def test_one_point_a_batch_with_its_numbers() -> None:
    (silver,) = projected(SeriesProjection(), EventReader(str(RECORDED)).poll()).of("shop.silver_orders")
    assert silver.figures["batch_id"] == tuple(range(12))
    assert silver.updates == (FIRST_UPDATE,) * 4 + (SECOND_UPDATE,) * 8
    last = {figure: values[-1] for figure, values in silver.figures.items()}
    assert last.keys() == set(FIGURES)
    read, written, broken = last["input_rows"], last["output_rows"], last["failed_records"]
    assert read is not None
    assert written is not None
    assert broken is not None
    assert read > written
    assert broken >= read - written
    assert (last["dropped_rows"] or 0) + (last["quarantined_rows"] or 0) == read - written
    assert last["batch_duration_ms"] is not None
    assert last["backlog_rows"] is None


def test_the_phases_of_a_batch_and_how_far_its_watermark_is_behind() -> None:
    (hourly,) = projected(SeriesProjection(), EventReader(str(RECORDED)).poll()).of("shop.hourly_revenue")
    phases = [hourly.figures[f"{phase}_ms"][-1] for phase in ("latestOffset", "queryPlanning", "walCommit", "addBatch")]
    assert phases[:3] == [40, 60, 25]
    assert hourly.figures["watermark_behind_s"][-1] is not None
    (bronze,) = projected(SeriesProjection(), EventReader(str(RECORDED)).poll()).of("shop.bronze_orders")
    assert all(value is None for value in bronze.figures["watermark_behind_s"])


def test_only_newer_points_and_never_more_than_the_capacity() -> None:
    events = EventReader(str(RECORDED)).poll()
    projection = SeriesProjection(capacity=5)
    for event in events:
        projection.apply(event)
    (kept,) = projection.of("shop.bronze_orders")
    assert list(kept.figures["batch_id"]) == [7, 8, 9, 10, 11]
    (newer,) = projection.of("SHOP.bronze_orders", after_sequence=kept.sequences[2])
    assert list(newer.figures["batch_id"]) == [10, 11]
    assert projection.of("shop.paid_orders") == ()
    assert projection.of("shop.bronze_orders", flow="other") == ()


def test_many_flows_share_what_is_kept() -> None:
    projection = SeriesProjection(capacity=500, total=600)
    assert projection.capacity == 500
    for event in EventReader(str(RECORDED)).poll():
        projection.apply(event)
    assert projection.capacity == 600 // 4


def test_the_newest_definition_with_columns_and_rules() -> None:
    projection = DefinitionProjection()
    for event in EventReader(str(RECORDED)).poll():
        projection.apply(event)
    silver = projection.of("shop.silver_orders")
    assert silver.location == "transformations/orders.py:30"
    assert silver.comment == "Orders that can be trusted"
    assert [rule.constraint for rule in silver.rules][1] == "amount > 0"
    assert silver.columns[1].comment == "who ordered; null is a fault of the shop"
    assert projection.of("shop.unknown").columns == ()
