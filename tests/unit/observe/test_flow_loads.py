"""What each flow of the newest update does at a moment."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from tests.unit.observe.story import Story

from penstock.events import FlowStatus
from penstock.observe.flows.loads import FlowLoad, FlowLoadProjection

T = "s.t"


def loads(story: Story, *, later: float = 0, over: bool = False) -> dict[str, FlowLoad]:
    projection = FlowLoadProjection()
    for event in story.events:
        projection.apply(event)
    newest: datetime = story.events[-1].timestamp
    return {load.flow: load for load in projection.loads(newest + timedelta(seconds=later), over=over)}


@pytest.fixture
def story() -> Story:
    told = Story()
    told.update("u1")
    told.status(T, FlowStatus.RUNNING)
    return told


def test_busy_is_the_share_of_the_time_since_the_first_batch_began(story: Story) -> None:
    for batch in range(3):  # a second apart, half of it at work
        story.batch(T, batch, 100, batch_duration_ms=500)
    assert loads(story)["t"].busy == pytest.approx(1.5 / 2.5)
    assert loads(story, later=5)["t"].busy == pytest.approx(1.5 / 7.5)


def test_only_the_newest_ten_batches_count(story: Story) -> None:
    story.batch(T, 0, 100, batch_duration_ms=1000)
    for batch in range(1, 11):
        story.batch(T, batch, 100, batch_duration_ms=100)
    assert loads(story)["t"].busy == pytest.approx(1.0 / 9.1, abs=0.001)


def test_batches_that_overlap_their_reports_are_never_over_all_of_the_time(story: Story) -> None:
    story.batch(T, 0, 100, batch_duration_ms=5000)
    story.batch(T, 1, 100, batch_duration_ms=5000)
    assert loads(story)["t"].busy == 1.0


def test_a_flow_without_a_batch_is_there_with_its_state(story: Story) -> None:
    story.status("s.other", FlowStatus.QUEUED)
    other = loads(story)["other"]
    assert (other.status, other.busy, other.batch_ms, other.lag) == (FlowStatus.QUEUED, None, None, None)


def test_a_flow_that_waits_for_data_reads_nothing(story: Story) -> None:
    story.batch(T, 0, 100, input_rows_per_second=50.0, processed_rows_per_second=90.0)
    assert loads(story)["t"].input_rows_per_second == 50.0
    story.status(T, FlowStatus.IDLE)
    idle = loads(story)["t"]
    assert (idle.input_rows_per_second, idle.processed_rows_per_second) == (0.0, 0.0)


def test_after_its_end_a_flow_has_no_load_and_keeps_what_was_left(story: Story) -> None:
    story.batch(T, 0, 100, batch_duration_ms=700, input_rows_per_second=50.0, backlog_records=40, state_rows=9)
    story.status(T, FlowStatus.COMPLETED)
    ended = loads(story)["t"]
    assert (ended.busy, ended.input_rows_per_second, ended.drain_seconds) == (None, None, None)
    assert (str(ended.lag), ended.state_rows, ended.batch_ms) == ("40 rows", 9, 700)


def test_of_an_update_that_is_over_no_flow_works(story: Story) -> None:
    story.batch(T, 0, 100, batch_duration_ms=700)
    found = loads(story, over=True)["t"]
    assert (found.status, found.busy) == (FlowStatus.STOPPED, None)


def test_a_new_update_begins_without_flows(story: Story) -> None:
    story.batch(T, 0, 100, batch_duration_ms=700)
    story.update("u2")
    assert loads(story) == {}


def test_its_document_has_all_that_it_knows(story: Story) -> None:
    story.batch(T, 0, 100, batch_duration_ms=500, backlog_files=3, state_rows=5, state_bytes=700)
    document = loads(story)["t"].to_json()
    assert document["status"] == "RUNNING"
    assert document["lag"]["files"] == 3
    assert (document["state_rows"], document["state_bytes"], document["batch_ms"]) == (5, 700, 500)
    assert document["batch_at"] == "2026-11-20T09:00:03.000000Z"
