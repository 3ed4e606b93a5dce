from __future__ import annotations

from tests.recorded.build import FIRST_UPDATE, RECORDED, SECOND_UPDATE

from penstock.events import EventReader
from penstock.observe.definitions import DefinitionProjection
from penstock.observe.series import SeriesProjection, project_series


def test_one_point_a_batch_with_its_numbers() -> None:
    (silver,) = project_series(EventReader(str(RECORDED)).poll(), "shop.silver_orders")
    assert [point.batch_id for point in silver.points] == list(range(12))
    assert [point.update_id for point in silver.points] == [FIRST_UPDATE] * 4 + [SECOND_UPDATE] * 8
    last = silver.points[-1]
    assert last.input_rows is not None
    assert last.output_rows is not None
    assert last.input_rows > last.output_rows
    assert last.failed_records >= last.input_rows - last.output_rows
    assert last.batch_duration_ms is not None


def test_only_newer_points_and_never_more_than_the_capacity() -> None:
    events = EventReader(str(RECORDED)).poll()
    projection = SeriesProjection(capacity=5)
    for event in events:
        projection.apply(event)
    (kept,) = projection.of("shop.bronze_orders")
    assert [point.batch_id for point in kept.points] == [7, 8, 9, 10, 11]
    (newer,) = projection.of("shop.bronze_orders", after_sequence=kept.points[2].sequence)
    assert [point.batch_id for point in newer.points] == [10, 11]
    assert projection.of("shop.paid_orders") == ()


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
