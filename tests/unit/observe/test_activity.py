"""What each flow did over all of a log, and that totals have it too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.recorded.days import BEGINNING, FLOWS, QUERY_START, SESSION_START, STOP, DaysRecorder
from tests.unit.observe.story import Story

from penstock.events import EventType, FlowStatus, UpdateState, builders, read_events
from penstock.events.flows.facts import FlowFacts
from penstock.observe.flows import activity
from penstock.observe.flows.activity import ActivityProjection, FlowActivity, Period


def _activities(storage: Path) -> dict[str, FlowActivity]:
    projection = ActivityProjection()
    for event in read_events(str(storage)):
        projection.apply(event)
    return {each.dataset: each for each in projection.flows()}


def _of(story: Story) -> list[FlowActivity]:
    projection, facts = ActivityProjection(), FlowFacts()
    for event in story.events:
        projection.take(event, facts.apply(event))
    return list(projection.flows())


def test_rows_of_a_continuous_run_arrive_between_its_triggers(tmp_path: Path) -> None:
    DaysRecorder(str(tmp_path)).always_on(3600, trigger=60)
    bronze = _activities(tmp_path)["shop.bronze_orders"]
    start = BEGINNING.timestamp()
    lengths = {round(period.end - period.start) for period in bronze.periods}
    assert lengths == {60}
    assert bronze.periods[0].start == pytest.approx(start + SESSION_START, abs=0.1), (
        "of the first batch, nothing is known"
    )
    assert bronze.batches == 59
    assert len(bronze.starts) == 1
    assert list(bronze.query_starts) == pytest.approx([QUERY_START], abs=0.1)
    assert not bronze.ends, "it was stopped"


def test_rows_of_a_run_that_ends_arrive_since_the_run_before(tmp_path: Path) -> None:
    DaysRecorder(str(tmp_path)).available_now(5, every=600)
    bronze = _activities(tmp_path)["shop.bronze_orders"]
    assert [round(period.end - period.start) for period in bronze.periods] == [600] * 4
    assert list(bronze.starts) == pytest.approx([SESSION_START] * 5, abs=0.01)
    revenue = _activities(tmp_path)["shop.hourly_revenue"]
    assert list(revenue.ends) == pytest.approx([STOP] * 5, abs=0.01)
    assert list(revenue.query_starts) == pytest.approx([QUERY_START] * 5, abs=0.1)
    assert all(sample.first for sample in bronze.all_samples())


def _running(story: Story, table: str, seconds: float) -> None:
    story.clock.step(seconds - 1)
    story.status(table, FlowStatus.RUNNING)


def _begin(story: Story, update_id: str, *, continuous: bool) -> None:
    story.update_id = update_id
    built = builders.create_update(pipeline="p", cause="USER_ACTION", version="1", continuous=continuous)
    story.say(EventType.CREATE_UPDATE, built)


def test_the_start_of_a_query_does_not_count_that_of_another_one_twice() -> None:
    story = Story()
    _begin(story, "one", continuous=True)
    for table in ("s.raw", "s.clean"):
        story.status(table, FlowStatus.STARTING)
    _running(story, "s.raw", 10)
    _running(story, "s.clean", 2)
    for table in ("s.raw", "s.clean"):
        story.batch(table, 0, 10, batch_duration_ms=500)
    raw, clean = _of(story)
    assert list(raw.query_starts) == pytest.approx([11], abs=0.1)
    assert list(clean.query_starts) == pytest.approx([2], abs=0.1)


def test_the_start_of_a_session_is_without_the_creation_of_tables() -> None:
    story = Story()
    _begin(story, "one", continuous=False)
    story.state(UpdateState.SETTING_UP_TABLES)
    story.clock.step(20)
    story.state(UpdateState.RUNNING)
    story.status("s.raw", FlowStatus.STARTING)
    story.batch("s.raw", 0, 10, batch_duration_ms=500)
    [raw] = _of(story)
    assert list(raw.starts) == pytest.approx([2.5], abs=0.1)


def test_how_runs_begin_is_from_updates_that_end_by_themselves_once_there_are_some() -> None:
    story = Story()

    def update(update_id: str, milliseconds: int, *, continuous: bool) -> None:
        _begin(story, update_id, continuous=continuous)
        story.status("s.raw", FlowStatus.STARTING)
        story.status("s.raw", FlowStatus.RUNNING)
        story.batch("s.raw", 0, 100, batch_duration_ms=milliseconds)
        story.batch("s.raw", 1, 100, batch_duration_ms=100)

    def firsts() -> list[int]:
        return [sample.milliseconds for sample in _of(story)[0].all_samples() if sample.first]

    update("one", 9000, continuous=True)
    assert firsts() == [9000]
    update("two", 4000, continuous=False)
    assert firsts() == [4000]
    update("three", 8000, continuous=True)
    assert firsts() == [4000]
    [raw] = _of(story)
    assert (len(raw.starts), len(raw.query_starts)) == (1, 1)
    assert FlowActivity.from_totals(("s.raw", "raw"), raw.totals()).stops_seen


def test_busy_time_is_that_of_all_batches(tmp_path: Path) -> None:
    recorder = DaysRecorder(str(tmp_path))
    recorder.always_on(1800, trigger=60)
    found = _activities(tmp_path)
    for flow in FLOWS:
        assert found[flow.table].busy_ms / 1000 == pytest.approx(recorder.busy[flow.table], rel=0.001)


def test_of_a_long_log_neighbours_are_merged_and_no_row_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    DaysRecorder(str(tmp_path)).always_on(7200, trigger=60)
    whole = _activities(tmp_path)["shop.bronze_orders"]
    monkeypatch.setattr(activity, "PERIODS", 16)
    short = _activities(tmp_path)["shop.bronze_orders"]
    assert 8 <= len(short.periods) <= 16
    assert sum(each.rows for each in short.periods) == sum(each.rows for each in whole.periods)
    assert short.periods[0].start == whole.periods[0].start
    assert short.periods[-1].end == whole.periods[-1].end


def test_a_full_refresh_reads_what_came_before_and_says_nothing_about_arrivals() -> None:
    story = Story()
    story.update("one")
    story.dataset("s.raw")
    story.flow("s.raw")
    for number in range(3):
        story.batch("s.raw", number, 10)
    known = _of(story)[0].periods
    story.state(UpdateState.COMPLETED)
    story.update("two", full_refresh="all")
    story.status("s.raw", FlowStatus.STARTING)
    story.batch("s.raw", 0, 1000)
    [raw] = _of(story)
    assert raw.periods == known
    assert raw.batches == 4


def test_a_repeated_batch_is_busy_again_and_its_rows_count_once() -> None:
    story = Story()
    story.update("one")
    story.dataset("s.raw")
    story.flow("s.raw")
    story.batch("s.raw", 0, 10)
    story.batch("s.raw", 1, 10)
    story.batch("s.raw", 1, 10)
    [raw] = _of(story)
    assert (raw.batches, raw.rows) == (3, 20)


def test_what_totals_have_is_what_was_known(tmp_path: Path) -> None:
    recorder = DaysRecorder(str(tmp_path))
    recorder.available_now(3, every=600)
    for known in _activities(tmp_path).values():
        stored = json.loads(json.dumps(known.totals()))
        assert FlowActivity.from_totals((known.dataset, known.flow), stored).totals() == known.totals()


def test_totals_of_0_1_0_have_files_of_state() -> None:
    found = FlowActivity.from_totals(("s.raw", "raw"), {"state_files": 400, "partitions": 200})
    assert found.state_operators == 2


@pytest.mark.parametrize(
    "damaged",
    [
        {},
        {"periods": "[[1, 2"},
        {"periods": 7, "samples": [1, [2]], "starts": "x", "names": ["a"]},
        {"fold": 0, "first": "yesterday", "periods": "[[1, 2, 3, 4], [5, null, 6, 7], 8]"},
    ],
)
def test_damaged_totals_read_as_far_as_they_go(damaged: dict[str, object]) -> None:
    found = FlowActivity.from_totals(("s.raw", "raw"), damaged)
    assert (found.dataset, found.flow, found.fold) == ("s.raw", "raw", 1)
    assert found.periods in ([], [Period(1, 2, 3, 4)])


def test_samples_of_each_size_are_kept() -> None:
    story = Story()
    story.update("one")
    story.dataset("s.raw")
    story.flow("s.raw")
    for number in range(100):
        story.batch("s.raw", number, 5, batch_duration_ms=900)
    story.batch("s.raw", 100, 5000, batch_duration_ms=900)
    for number in range(101, 200):
        story.batch("s.raw", number, 5, batch_duration_ms=900)
    [raw] = _of(story)
    assert {sample.rows for sample in raw.all_samples()} == {5, 5000}
    assert len(raw.all_samples()) < 60
