"""What each flow did in each update, and its drawing on a time axis."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from tests.recorded.build import FIRST_UPDATE, RECORDED, SECOND_UPDATE, START

from penstock.events import Event, EventReader, EventType, FlowStatus
from penstock.events.flows.facts import FlowFacts
from penstock.observe.drawing.gantt import to_gantt
from penstock.observe.flows.updates import UPDATES, FlowInUpdate, UpdateFlowsProjection


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return EventReader(str(RECORDED)).poll()


def projected(events: list[Event]) -> UpdateFlowsProjection:
    facts, projection = FlowFacts(), UpdateFlowsProjection()
    for event in events:
        projection.take(event, facts.apply(event))
    return projection


def test_states_and_sums_of_each_update(events: list[Event]) -> None:
    projection = projected(events)
    first = {each.flow: each for each in projection.of(FIRST_UPDATE)}
    second = {each.flow: each for each in projection.of(SECOND_UPDATE)}
    assert [each.status for each in first.values()] == [
        FlowStatus.COMPLETED,
        FlowStatus.COMPLETED,
        FlowStatus.FAILED,
        FlowStatus.SKIPPED,
    ]
    assert (first["bronze_orders"].batches, second["bronze_orders"].batches) == (4, 8)
    silver = second["silver_orders"]
    assert silver.rows_written == silver.rows_read - silver.rows_dropped - silver.rows_quarantined
    assert first["hourly_revenue"].error is not None
    spans = first["silver_orders"].spans
    assert [span.status for span in spans][:4] == [
        FlowStatus.QUEUED,
        FlowStatus.STARTING,
        FlowStatus.RUNNING,
        FlowStatus.STARTING,
    ]
    assert all(one.end == other.start for one, other in pairwise(spans))


def test_a_flow_that_goes_to_and_fro_keeps_a_bounded_number_of_states() -> None:
    flow = FlowInUpdate("shop.orders", "orders")
    for second in range(500):
        status = FlowStatus.RUNNING if second % 2 else FlowStatus.IDLE
        flow.enter(status, START + timedelta(seconds=second))
    flow.enter(FlowStatus.STOPPED, START + timedelta(seconds=500))
    assert len(flow.spans) < 70
    assert flow.status is FlowStatus.STOPPED


def test_only_the_newest_updates_are_kept(events: list[Event]) -> None:
    projection = UpdateFlowsProjection()
    facts = FlowFacts()
    progress = next(each for each in events if each.event_type is EventType.FLOW_PROGRESS)
    for number in range(UPDATES + 5):
        event = replace(progress, origin=replace(progress.origin, update_id=f"u{number}"))
        projection.take(event, facts.apply(event))
    assert projection.of("u4") == ()
    assert projection.of("u5") != ()


def test_the_drawing_has_a_row_a_flow_and_a_bar_a_state(events: list[Event]) -> None:
    flows = projected(events).of(FIRST_UPDATE)
    svg = to_gantt(flows, begin=START, end=START + timedelta(minutes=1), link=lambda each: f"/flows/{each.flow}")
    drawn = ElementTree.fromstring(svg)
    name = "{http://www.w3.org/2000/svg}"
    assert len(drawn.findall(f".//{name}a")) == len(flows)
    assert len(drawn.findall(f".//{name}rect")) == sum(len(flow.spans) for flow in flows)
    assert "Failed from 09:00:" in svg
    width = float(drawn.attrib["width"])
    for bar in drawn.findall(f".//{name}rect"):
        assert float(bar.attrib["x"]) + float(bar.attrib["width"]) <= width


def test_hostile_names_stay_text() -> None:
    flow = FlowInUpdate("shop.</svg><script>alert(1)</script>", '"><script>alert(1)</script>\x1b[31m')
    flow.enter(FlowStatus.RUNNING, START)
    svg = to_gantt([flow], begin=START, end=START, link=lambda each: f'/flows/"{each.flow}')
    assert "<script" not in svg
    assert "\x1b" not in svg
    ElementTree.fromstring(svg)
