"""A watermark that stands still although rows arrive is noticed, with what holds it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.unit.observe.story import Story

from penstock.errors import DataError
from penstock.events import (
    BatchProgress,
    CheckpointedBatch,
    EventType,
    FlowStatus,
    Level,
    WatermarkState,
    WatermarkStatus,
    WatermarkWatch,
    builders,
)
from penstock.events.codec import fields_to_json
from penstock.events.flows.watermark import HELD_BACK_BATCHES, STALLED_BATCHES
from penstock.observe.status.pipeline_status import project_status

START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = datetime(9000, 1, 1, tzinfo=UTC)
"""After all times of these tests: no watermark is ahead of it."""
DATASET = "shop.hours"


def at(minutes: float) -> str:
    return (START + timedelta(minutes=minutes)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Flow:
    """A flow of two sources, `a` and `b`; the watermark is told as Spark tells it, in the batch after."""

    def __init__(self) -> None:
        self.watch = WatermarkWatch()
        self.offsets = {"a": 0, "b": 0}
        self.number = 0
        self.batches: list[tuple[BatchProgress, CheckpointedBatch]] = []

    def batch(
        self,
        watermark: float | None,
        newest: str | float | None,
        *,
        reads: str = "ab",
        rows: int = 1,
        query: str = "q",
        now: datetime = NOW,
    ) -> WatermarkStatus | None:
        self.offsets = {name: offset + (name in reads) for name, offset in self.offsets.items()}
        progress = BatchProgress(
            self.number,
            rows,
            rows,
            watermark=None if watermark is None else at(watermark),
            event_time_max=newest if isinstance(newest, str) else None if newest is None else at(newest),
        )
        self.number += 1
        told = CheckpointedBatch(query, dict(self.offsets))
        self.batches.append((progress, told))
        return self.watch.apply(progress, told, now)


@pytest.fixture
def flow() -> Flow:
    """Its first batches: there is no watermark at first."""
    flow = Flow()
    assert [flow.batch(None, 0), flow.batch(-10, 5), flow.batch(-5, 10)] == [None] * 3
    return flow


def test_nothing_is_said_while_the_watermark_follows(flow: Flow) -> None:
    for minutes in range(15, 200, 5):
        assert flow.batch(minutes - 15, minutes) is None


def test_a_time_from_the_future_makes_all_later_rows_older(flow: Flow) -> None:
    assert flow.batch(0, 1_000_000) is None
    assert flow.batch(999_990, 20) is None
    said = [flow.batch(999_990, 20 + n) for n in range(STALLED_BATCHES)]
    assert said[:-1] == [None] * (STALLED_BATCHES - 1)
    assert said[-1] == WatermarkStatus(WatermarkState.STALLED, at(999_990), at(1_000_000), STALLED_BATCHES)
    assert flow.batch(999_990, 500) is None, "said once"
    assert flow.batch(999_990, 1_000_030) is None
    again = flow.batch(1_000_020, 1_000_031)
    assert again is not None
    assert again.state is WatermarkState.MOVING


def test_a_watermark_that_is_ahead_of_the_clock(flow: Flow) -> None:
    clock = START + timedelta(minutes=30)
    assert flow.batch(0, 1000, now=clock) is None, "the watermark follows with the next batch"
    said = flow.batch(990, 30, now=clock)
    assert said == WatermarkStatus(WatermarkState.AHEAD, at(990), at(1000), 0)
    assert [flow.batch(990, 31, now=clock) for _ in range(2 * STALLED_BATCHES)] == [None] * 2 * STALLED_BATCHES
    further = flow.batch(2000, 2010, now=clock)
    assert further is None, "said once"
    later = flow.batch(2000, 2010, now=START + timedelta(minutes=2000))
    assert later is not None
    assert later.state is WatermarkState.MOVING, "its time has come"


def test_clocks_that_differ_a_little_are_as_usual(flow: Flow) -> None:
    assert flow.batch(0, 15, now=START - timedelta(seconds=59)) is None
    said = flow.batch(3, 15, now=START)
    assert said is not None
    assert said.state is WatermarkState.AHEAD
    again = flow.batch(5, 15, now=START + timedelta(minutes=5))
    assert again is not None
    assert again.state is WatermarkState.MOVING


@pytest.mark.parametrize("newest", [None, 15], ids=["no times", "older times"])
def test_batches_without_newer_rows(flow: Flow, newest: float | None) -> None:
    flow.batch(0, 20)
    flow.batch(10, 20)
    said = [flow.batch(10, newest) for _ in range(STALLED_BATCHES + 3)]
    assert [stand.state for stand in said if stand is not None] == [WatermarkState.STALLED]


def test_times_in_whole_hours_do_not_stall(flow: Flow) -> None:
    flow.batch(0, 60)
    assert all(flow.batch(50, 60) is None for _ in range(3 * STALLED_BATCHES))


def test_a_year_of_five_digits_is_the_newest(flow: Flow) -> None:
    flow.batch(0, "+12000-01-01T00:00:00.000Z")
    flow.batch(5, 20)
    said = [flow.batch(5, 20 + n) for n in range(STALLED_BATCHES)]
    assert said[-1] is not None
    assert said[-1].event_time_max == "+12000-01-01T00:00:00.000Z"


def test_an_idle_source_holds_the_watermark_back(flow: Flow) -> None:
    flow.batch(0, 15)
    said = [flow.batch(0, 15 + 6 * n, reads="b") for n in range(1, 10)]
    first = next(stand for stand in said if stand is not None)
    assert first == WatermarkStatus(WatermarkState.HELD_BACK, at(0), first.event_time_max, first.batches, ("a",))
    assert first.batches >= HELD_BACK_BATCHES
    assert fields_to_json(first)["idle_sources"] == ["a"]
    assert len([stand for stand in said if stand is not None]) == 1
    moving = flow.batch(55, 75)
    assert moving is not None
    assert (moving.state, moving.idle_sources) == (WatermarkState.MOVING, ())


def test_a_source_that_delivers_now_and_then_is_not_idle(flow: Flow) -> None:
    flow.batch(0, 15)
    said = [flow.batch(0, 15 + 6 * n, reads="ab" if n == 2 else "b") for n in range(1, 10)]
    assert [stand.idle_sources for stand in said if stand is not None] == [()]


def test_sources_a_little_apart_are_as_usual(flow: Flow) -> None:
    flow.batch(0, 15)
    assert all(flow.batch(0, 15 + 0.5 * n, reads="b") is None for n in range(9))


def test_batches_without_rows_do_not_count(flow: Flow) -> None:
    flow.batch(0, 15)
    assert all(flow.batch(0, None, reads="", rows=0) is None for _ in range(50))


def test_another_query_starts_anew(flow: Flow) -> None:
    flow.batch(0, 1_000_000)
    flow.batch(999_990, 20)
    for n in range(STALLED_BATCHES - 1):
        flow.batch(999_990, n)
    assert flow.batch(999_990, 20, query="another") is None
    assert flow.watch.state is WatermarkState.MOVING


def _told(flow: Flow, stand: WatermarkStatus | None = None) -> Story:
    story = Story()
    story.update("u1")
    story.dataset(DATASET)
    for progress, told in flow.batches:
        built = builders.flow_batch("hours", progress, checkpointed=told)
        story.say(EventType.FLOW_PROGRESS, built, dataset=DATASET, flow="hours")
    if stand is not None:
        moves = stand.state is WatermarkState.MOVING
        error = DataError(
            "WATERMARK_STALLED",
            dataset=DATASET,
            flow="hours",
            name=DATASET,
            batches=stand.batches,
            watermark=stand.watermark,
            newest=stand.event_time_max,
        )
        level = Level.INFO if moves else Level.WARN
        built = builders.watermark("hours", stand)
        more = {} if moves else {"error": error}
        story.say(EventType.WATERMARK, built, dataset=DATASET, flow="hours", level=level, **more)
    return story


def test_the_next_run_goes_on_where_the_log_ends(flow: Flow) -> None:
    flow.batch(0, 1_000_000)
    flow.batch(999_990, 20)
    for n in range(STALLED_BATCHES - 1):
        flow.batch(999_990, n)
    flow.watch = WatermarkWatch.over(_told(flow).events, ("Shop.Hours", "hours"))
    last = flow.batch(999_990, 20)
    assert last is not None
    assert last.batches == STALLED_BATCHES
    other = WatermarkWatch.over(_told(flow).events, (DATASET, "other"))
    assert other == WatermarkWatch()


def test_status_shows_it_until_the_watermark_moves() -> None:
    flow = Flow()
    stands = WatermarkStatus(WatermarkState.STALLED, at(0), at(10), 12)
    dataset = project_status(_told(flow, stands).events).dataset(DATASET)
    assert dataset is not None
    assert dataset.watermark_warning is not None
    assert dataset.to_json()["watermark_warning"]["condition"] == "WATERMARK_STALLED"
    story = _told(flow, stands)
    story.status(DATASET, FlowStatus.RUNNING)
    assert project_status(story.events).datasets[0].watermark_warning is not None
    moves = builders.watermark("hours", WatermarkStatus(WatermarkState.MOVING, at(20), at(30), 0))
    story.say(EventType.WATERMARK, moves, dataset=DATASET, flow="hours")
    assert project_status(story.events).datasets[0].watermark_warning is None
    assert [event.message for event in story.events if event.event_type is EventType.WATERMARK] == [
        f"hours: the watermark does not advance: all rows that arrive are older than earlier rows, at {at(0)}",
        f"hours: the watermark moves again, at {at(20)}",
    ]
