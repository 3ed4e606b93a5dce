"""The histogram of lateness: its intervals, its drawing, and the delays that the flow page puts beside it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

from tests.recorded.build import RECORDED

from penstock.dashboard.pages.flow import lateness_model
from penstock.events import DELAYS_MS, EventReader
from penstock.observe.drawing.histogram import short_delay, to_histogram
from penstock.observe.lateness import EDGES_MS, LatenessBar, lateness_bars
from penstock.observe.watermark import WatermarkAdvice, WatermarkProjection

_SVG = "{http://www.w3.org/2000/svg}"
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


def test_delays_are_short() -> None:
    found = [short_delay(each) for each in (0, 500, 30_000, 90_000, 10 * MINUTE, 60 * MINUTE, 7 * DAY)]
    assert found == ["0", "500 ms", "30 s", "90 s", "10 min", "1 h", "7 d"]


def test_the_drawing_tells_a_screen_reader_every_column() -> None:
    bars = lateness_bars({0: 1_234, 45_000: 7, 10 * MINUTE: 1}, 10 * MINUTE)
    root = ET.fromstring(to_histogram(bars, delay_ms=10 * MINUTE))
    told = str(root.get("aria-label"))
    assert root.get("role") == "img"
    for words in ("0 to 1 s late: 1,234", "30 s to 1 min late: 7", "10 min to 30 min late: 1", "a delay of 10 min"):
        assert words in told
    columns = root.findall(f"{_SVG}rect")
    heights = [float(str(each.get("height"))) for each in columns]
    assert heights == [200.0, 2.0, 2.0], "a row is always seen"
    assert [str(each.get("class")).split()[-1] for each in columns] == ["lineage-active"] * 2 + ["lineage-skipped"]
    [mark] = [each for each in root.iter(f"{_SVG}path") if each.get("class") == "histogram-delay"]
    edge = next(text for text in root.iter(f"{_SVG}text") if text.text == "10 min")
    assert float(str(mark.get("d")).removeprefix("M").split()[0]) + 0.5 == float(str(edge.get("x")))


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
