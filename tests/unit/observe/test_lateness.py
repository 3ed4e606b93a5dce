"""The histogram of lateness: its intervals, their bars, and the delays that the flow page puts beside it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from tests.recorded.build import RECORDED

from penstock.dashboard.pages.flow import lateness_model
from penstock.events import DELAYS_MS, EventReader
from penstock.observe.lateness import EDGES_MS, LatenessBar, lateness_bars
from penstock.observe.watermark import WatermarkAdvice, WatermarkProjection

MINUTE, DAY = 60_000, 86_400_000


def _recorded_advice() -> WatermarkAdvice:
    projection = WatermarkProjection()
    for event in EventReader(str(RECORDED)).poll():
        projection.apply(event)
    [advice] = projection.advice("shop.hourly_revenue", target=100)
    return advice


def test_rows_are_counted_exactly_between_the_edges() -> None:
    assert set(EDGES_MS) <= set(DELAYS_MS)
    late = {0: 5, 200: 3, 2_000: 2, 45_000: 7, 10 * MINUTE: 1}
    bars = lateness_bars(late, 5 * MINUTE)
    assert [(bar.begin_ms, bar.rows) for bar in bars if bar.rows] == [
        (0, 8),
        (1_000, 2),
        (30_000, 7),
        (10 * MINUTE, 1),
    ]
    assert all(one.end_ms == other.begin_ms for one, other in pairwise(bars))
    assert [bar.begin_ms for bar in bars if bar.lost] == [5 * MINUTE, 10 * MINUTE]


def test_the_delay_begins_an_interval_and_nothing_is_after_the_last_one() -> None:
    assert lateness_bars({}, 7_777)[-1] == LatenessBar(7_777, 10_000, 0, lost=True)
    assert lateness_bars({}, 0) == (LatenessBar(0, 1_000, 0, lost=True),)
    assert lateness_bars({60 * DAY: 2}, MINUTE)[-1] == LatenessBar(30 * DAY, None, 2, lost=True)


def test_the_page_shows_each_interval_and_what_the_delay_loses() -> None:
    bars = lateness_model(_recorded_advice())["bars"]
    assert [bar["late"] for bar in bars][:2] == ["0 seconds to 1 second", "1 second to 5 seconds"]
    assert [bar["late"] for bar in bars if bar["is_lost"]] == ["10 minutes to 30 minutes", "30 minutes to 1 hour"]
    assert {bar["late"]: bar["rows"] for bar in bars}["10 minutes to 30 minutes"] == 9


def test_the_latest_interval_has_no_end() -> None:
    advice = replace(_recorded_advice(), late={60 * DAY: 2})
    assert lateness_model(advice)["bars"][-1] == {"late": "30 days or more", "rows": 2, "is_lost": True}


def test_the_page_sets_other_delays_beside_it() -> None:
    advice = _recorded_advice()
    model = lateness_model(advice)
    assert model["rows"] - model["in_time"] == sum(advice.late.values())
    delays = {each["delay"]: each for each in model["delays"]}
    assert len(delays) < len(advice.delays), "those between the edges are left out"
    assert [name for name, each in delays.items() if each["is_current"]] == ["10 minutes"]
    assert [name for name, each in delays.items() if each["is_recommended"]] == []
    assert delays["10 minutes"]["lost"] == 13
    lost = [each["lost"] for each in model["delays"]]
    assert lost == sorted(lost, reverse=True)
    assert lost[-1] == 0
    assert {each["of"] for each in model["delays"]} == {lost[0]}
