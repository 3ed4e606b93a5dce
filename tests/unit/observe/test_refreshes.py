"""How views were refreshed, from events to the page, also of a log that was compacted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.dashboard.conftest import client_of
from tests.unit.observe.story import Story

from penstock.events import Event, EventLog, EventType, FlowStatus, Origin, RefreshChoice, RefreshMethod
from penstock.events.flows.facts import FlowFacts
from penstock.events.flows.refresh import refresh_choice_of, refresh_planned
from penstock.observe.flows.refreshes import REFRESHES, RefreshOfView, RefreshProjection
from penstock.observe.log.retained_events import RetainedEvents
from penstock.storage import Storage

VIEW = "shop.revenue"
ABLE = (RefreshMethod.MERGE_GROUPS, RefreshMethod.RECOMPUTE_KEYS)
FULL = RefreshChoice(RefreshMethod.FULL, "there is no refresh to go on from", ABLE, None, 5_000_000, 5_000_000)
MERGED = RefreshChoice(RefreshMethod.MERGE_GROUPS, "", ABLE, 0.01, 60_000, 5_060_000)
WHY = "merge groups is estimated to take 1.2 s, full 2.5 s"
WEIGHED = replace(
    MERGED,
    why=WHY,
    estimated={RefreshMethod.MERGE_GROUPS: 1.2, RefreshMethod.FULL: 2.5},
    measured={RefreshMethod.FULL: 2.4},
)


def _story(*choices: RefreshChoice) -> Story:
    story = Story()
    story.update("u1")
    story.dataset(VIEW, "MATERIALIZED_VIEW")
    story.flow(VIEW, "materialized_view")
    for number, choice in enumerate(choices):
        story.say(EventType.PLANNING_INFORMATION, refresh_planned(VIEW, choice), dataset=VIEW, flow="revenue")
        story.status(VIEW, FlowStatus.RUNNING)
        story.batch(VIEW, number, 20, batch_duration_ms=1300)
    return story


def _refreshes(events: list[Event]) -> tuple[RefreshOfView, ...]:
    projection, facts = RefreshProjection(), FlowFacts()
    for event in events:
        projection.take(event, facts.apply(event))
    return projection.of("Shop.Revenue")


@pytest.mark.parametrize("choice", [FULL, MERGED, WEIGHED], ids=["full", "merged", "weighed"])
def test_an_event_gives_back_the_choice(choice: RefreshChoice) -> None:
    [event] = (each for each in _story(choice).events if each.event_type is EventType.PLANNING_INFORMATION)
    assert refresh_choice_of(event) == choice
    techniques = event.details["planning_information"]["technique_information"]
    assert {each["method"]: each["cost"] for each in techniques}["full"] == choice.bytes_in_full
    seconds = {each["method"]: (each["estimated_seconds"], each["measured_seconds"]) for each in techniques}
    assert seconds["full"] == ((2.5, 2.4) if choice is WEIGHED else (None, None))
    assert choice.why in event.message
    del techniques[0]["is_chosen"]
    assert refresh_choice_of(event) is None, "of another version"


def test_the_newest_come_first_with_what_they_took() -> None:
    newest, first = _refreshes(_story(FULL, MERGED).events)
    assert (newest.choice, newest.milliseconds, newest.rows_written, newest.bytes_saved) == (
        MERGED,
        1300,
        20,
        5_000_000,
    )
    assert (first.choice, first.bytes_saved) == (FULL, 0)
    assert newest.began > first.began


def test_a_refresh_that_failed_has_no_numbers_and_those_of_the_next_are_its_own() -> None:
    story = _story(MERGED)
    failed = [event for event in story.events if event.event_type is EventType.PLANNING_INFORMATION]
    [later, earlier] = _refreshes([*failed, *story.events])
    assert (earlier.milliseconds, later.milliseconds) == (None, 1300)


def test_a_compacted_log_has_the_newest_ones() -> None:
    story = _story(*(replace(MERGED, bytes_read=number) for number in range(40)))
    retained, facts = RetainedEvents(), FlowFacts()
    for line, event in enumerate(story.events):
        retained.take(line, event, facts.apply(event))
    kept = [event for line, event in enumerate(story.events) if line in retained.lines()]
    assert sum(event.event_type is EventType.PLANNING_INFORMATION for event in kept) == REFRESHES
    assert _refreshes(kept) == _refreshes(story.events)


def test_the_page_of_the_view_shows_them(tmp_path: Path) -> None:
    story = _story(FULL, MERGED, WEIGHED)
    with EventLog(
        Storage(str(tmp_path)), origin=Origin("p", "u1"), clock=story.clock, next_sequence=0, ordinal=1
    ) as log:
        for event in story.events:
            dataset, flow = event.origin.dataset_name, event.origin.flow_name
            log.append(event.event_type, event.message, dict(event.details), dataset=dataset, flow=flow)
    page = client_of(str(tmp_path)).get(f"/datasets/{VIEW}").text
    table = page[page.index('id="refreshes-card"') : page.index('id="charts-place"')]
    for text in (
        "merge groups",
        "1.00%",
        "60.0 kB",
        "5.1 MB",
        "98.8 %",
        "1.3 s",
        "1.2 s",
        WHY,
        "there is no refresh to go on from",
    ):
        assert text in table
