"""What other delays cost, from the lateness that batches tell, and which one is recommended."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from tests.unit.observe.story import Story

from penstock.events import DELAYS_MS, EventType, Lateness, builders
from penstock.observe.watermark import WatermarkAdvice, WatermarkProjection, delay_text, highest_share

DATASET = "shop.hours"
MINUTE = 60_000


def _story(*, output: str = "append", stateful: tuple[str, ...] = ("aggregate",)) -> Story:
    story = Story()
    story.update("u1")
    story.dataset(DATASET)
    built = builders.flow_definition(
        "hours", output_dataset=DATASET, flow_type=output, stateful=stateful, watermark=("at", "10 minutes")
    )
    story.say(EventType.FLOW_DEFINITION, built, dataset=DATASET, flow="hours")
    return story


def _advice(story: Story, target: float = 100) -> WatermarkAdvice:
    projection = WatermarkProjection()
    for event in story.events:
        projection.apply(event)
    [advice] = projection.advice("Shop.Hours", target=target)
    return advice


def test_rows_lost_are_those_at_least_so_late() -> None:
    story = _story()
    late = {0: 500, MINUTE: 30, 10 * MINUTE: 7, 30 * MINUTE: 1}
    story.batch(DATASET, 0, 100_000, lateness=Lateness(100_000, 10 * MINUTE, 60 * MINUTE))
    story.batch(DATASET, 1, 100_000, lateness=Lateness(100_000, 10 * MINUTE, 60 * MINUTE, late))
    advice = _advice(story)
    lost = {cost.delay_ms: cost.lost for cost in advice.delays}
    assert (lost[0], lost[100], lost[MINUTE], lost[2 * MINUTE], lost[10 * MINUTE]) == (538, 38, 38, 8, 8)
    assert (lost[30 * MINUTE], lost[45 * MINUTE]) == (1, 0)
    assert max(lost) == 45 * MINUTE, "nothing is gained beyond"
    assert (advice.rows, advice.batches, advice.current_ms) == (200_000, 2, 10 * MINUTE)
    per_million = {cost.delay_ms: cost.per_million for cost in advice.delays}
    assert per_million[2 * MINUTE] == 40
    assert all(cost.at_most_per_million > cost.per_million for cost in advice.delays)


def test_the_shortest_delay_within_the_target_is_recommended_with_confidence() -> None:
    story = _story()
    story.batch(DATASET, 0, 0, lateness=Lateness(1_000_000, 0, 0, {0: 1000, MINUTE: 95, 2 * MINUTE: 10}))
    assert _advice(story, 100).recommended_ms == 2 * MINUTE, "95 and 10 of a million may as well be more than 100"
    assert _advice(story, 200).recommended_ms == 100, "no row came between 100 ms and a minute late"
    assert _advice(story, 5000).recommended_ms == 0
    assert _advice(story, 4).recommended_ms == 3 * MINUTE
    few = _advice(story, 1)
    assert few.recommended_ms is None
    assert few.rows_needed > few.rows
    assert highest_share(0, few.rows_needed) * 1e6 <= 1 < highest_share(0, few.rows_needed - 2) * 1e6


@pytest.mark.parametrize(
    ("output", "stateful", "waits"),
    [
        ("append", ("aggregate",), True),
        ("update", ("aggregate",), False),
        ("append", ("deduplicate",), False),
    ],
)
def test_windows_wait_for_the_watermark_only_when_they_are_appended(
    output: str, stateful: tuple[str, ...], waits: bool
) -> None:
    story = _story(output=output, stateful=stateful)
    story.batch(DATASET, 0, 10, lateness=Lateness(10, MINUTE))
    assert [cost.waits_ms for cost in _advice(story).delays] == [
        cost.delay_ms if waits else None for cost in _advice(story).delays
    ]


def test_state_grows_with_the_time_that_it_holds() -> None:
    story = _story()
    hour = 60 * MINUTE
    story.batch(DATASET, 0, 10, lateness=Lateness(10, hour, hour, {2 * hour: 1}), state_rows=200, state_bytes=2_000)
    story.batch(DATASET, 1, 10, lateness=Lateness(10, hour, hour), state_rows=100, state_bytes=900)
    state = {cost.delay_ms: (cost.state_rows, cost.state_bytes) for cost in _advice(story).delays}
    assert (state[hour], state[0], state[3 * hour]) == ((200, 2_000), (100, 1_000), (400, 4_000))
    story.batch(DATASET, 2, 10, lateness=Lateness(10, 0, hour), state_rows=5, state_bytes=9)
    after = {cost.delay_ms: cost.state_rows for cost in _advice(story).delays}
    assert (after[0], after[hour]) == (5, 10), "what there was with another delay does not count"


def test_state_without_any_time_tells_nothing() -> None:
    story = _story(stateful=("deduplicate",))
    story.batch(DATASET, 0, 10, lateness=Lateness(10, 0), state_rows=5, state_bytes=9)
    assert {cost.state_rows for cost in _advice(story).delays} == {None}


def test_a_batch_that_ran_twice_counts_once_and_a_full_refresh_begins_anew() -> None:
    story = _story()
    story.batch(DATASET, 0, 10, lateness=Lateness(10, MINUTE, 0, {0: 4}))
    story.batch(DATASET, 1, 10, lateness=Lateness(10, MINUTE, 0, {0: 1}))
    story.batch(DATASET, 1, 10, lateness=Lateness(10, MINUTE, 0, {0: 2}))
    assert (_advice(story).rows, _advice(story).delays[0].lost) == (20, 6)
    story.batch(DATASET, 2, 10)
    assert _advice(story).rows == 20, "a batch that was not measured"
    story.update("u2", full_refresh="all")
    story.dataset(DATASET)
    story.batch(DATASET, 0, 10, lateness=Lateness(3, MINUTE, 0, {0: 1}))
    assert (_advice(story).rows, _advice(story).delays[0].lost) == (3, 1)


def test_it_tells_in_how_many_of_all_batches_rows_were_measured() -> None:
    story = _story()
    story.batch(DATASET, 0, 10, lateness=Lateness(7, MINUTE, 0, {0: 4}))
    story.batch(DATASET, 1, 0)
    for _ in range(2):
        story.batch(DATASET, 2, 1000)
    advice = _advice(story)
    assert (advice.rows, advice.batches, advice.all_batches) == (7, 1, 2), "a batch without rows does not count"
    assert (advice.rows_read, advice.all_rows_read) == (10, 1010)
    assert {"batches": 1, "all_batches": 2, "rows_read": 10, "all_rows_read": 1010}.items() <= advice.to_json().items()


def test_the_limit_covers_the_true_share_in_95_of_100_draws() -> None:
    draw = random.Random(7)
    for share, rows in ((0.001, 5_000), (0.02, 1_000), (0.3, 200)):
        covered = 0
        for _ in range(300):
            normal = draw.gauss(rows * share, math.sqrt(rows * share * (1 - share)))
            covered += highest_share(max(0, min(rows, round(normal))), rows) >= share
        assert covered >= 280
    # The interval's own example: 0 of n leaves z²/(n + z²), and n of n everything.
    assert highest_share(0, 1000) == pytest.approx(3.8415 / 1003.8415, rel=1e-4)
    assert highest_share(10, 10) == pytest.approx(1)
    assert highest_share(0, 0) == 1


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 seconds"),
        (500, "500 milliseconds"),
        (1000, "1 second"),
        (90_000, "90 seconds"),
        (600_000, "10 minutes"),
        (86_400_000, "1 day"),
        (604_800_000, "7 days"),
        (5_400_000, "90 minutes"),
    ],
)
def test_a_delay_reads_as_with_watermark_takes_it(milliseconds: int, text: str) -> None:
    assert delay_text(milliseconds) == text


def test_the_delays_have_no_gap_of_more_than_double() -> None:
    assert list(DELAYS_MS) == sorted(set(DELAYS_MS))
    assert all(later <= 2.5 * earlier for earlier, later in itertools.pairwise(DELAYS_MS[1:]))


def test_rows_without_a_time_survive_the_log() -> None:
    for lateness in (Lateness(10, MINUTE, 0, {0: 1}), Lateness(10, MINUTE, 0, {}, without_time=3)):
        assert Lateness.from_json(lateness.to_json()) == lateness
