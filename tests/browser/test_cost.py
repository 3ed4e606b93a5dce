"""The chart of the page Cost, in a browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from tests.recorded.days import DaysRecorder

_HAS_FRONTIER = """canvas => {
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const [red, green, blue] = getComputedStyle(document.documentElement).getPropertyValue("--chart-1").trim()
    .match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16));
  let count = 0;
  for (let at = 0; at < pixels.length; at += 4)
    if (pixels[at] === red && pixels[at + 1] === green && pixels[at + 2] === blue) count += 1;
  return count > 200;
}"""


@pytest.fixture
def recorded(storage: str) -> None:
    DaysRecorder(storage).always_on(4 * 3600, trigger=60)


@pytest.mark.usefixtures("recorded")
def test_the_frontier_is_drawn_and_told(page: Page) -> None:
    page.goto("/cost")
    chart = page.locator("#cost-chart")
    expect(chart.locator("canvas")).to_be_visible()
    assert "AvailableNow every 1 hour" in (chart.get_attribute("aria-label") or "")
    assert chart.locator("canvas").evaluate(_HAS_FRONTIER)


@pytest.mark.usefixtures("recorded")
def test_the_form_simulates_again(page: Page) -> None:
    page.goto("/cost")
    page.get_by_label("Price of an hour").fill("15 USD")
    page.get_by_label("readable within").fill("30 minutes")
    page.get_by_role("button", name="Simulate").click()
    expect(page.locator("#conclusion")).to_contain_text("AvailableNow every")
    expect(page.get_by_role("row", name="always on", exact=False).first).to_contain_text("360.00")


@pytest.mark.usefixtures("recorded")
def test_a_narrow_window_has_no_sideways_scroll(page: Page) -> None:
    page.set_viewport_size({"width": 420, "height": 900})
    page.goto("/cost")
    expect(page.locator("#cost-chart canvas")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
