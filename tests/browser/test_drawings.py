"""What is drawn without a chart: the lineage's zoom, how late rows come, failures of rules by batch."""

from __future__ import annotations

import base64

from playwright.sync_api import Locator, Page, expect
from tests.recorded.build import recorded_orders

_COLOUR = """async (picture) => {
  const bytes = Uint8Array.from(atob(picture), (each) => each.charCodeAt(0));
  const drawn = await createImageBitmap(new Blob([bytes]));
  const pen = new OffscreenCanvas(drawn.width, drawn.height).getContext("2d");
  pen.drawImage(drawn, 0, 0);
  return [...pen.getImageData(1, drawn.height / 2, 1, 1).data];
}"""


def _colour(page: Page, meter: Locator) -> object:
    """The colour with which a bar begins."""
    return page.evaluate(_COLOUR, base64.b64encode(meter.screenshot()).decode())


def _width(page: Page) -> float:
    return float(page.locator("svg.lineage").evaluate("svg => svg.getBoundingClientRect().width"))


def test_the_lineage_is_zoomed_by_keyboard_and_wheel(page: Page, storage: str) -> None:
    recorded_orders(storage)
    page.goto("/")
    graph = page.get_by_role("group", name="Lineage drawing")
    graph.focus()
    fitted = _width(page)
    page.keyboard.press("+")
    larger = _width(page)
    assert larger > 1.2 * fitted
    page.keyboard.press("-")
    page.keyboard.press("-")
    assert _width(page) < fitted
    page.keyboard.press("0")
    assert abs(_width(page) - fitted) < 1
    graph.hover()
    page.mouse.wheel(0, -100)
    assert abs(_width(page) - fitted) < 1, "without Ctrl the wheel scrolls"
    page.keyboard.down("Control")
    graph.hover()
    page.mouse.wheel(0, -100)
    page.wait_for_function(
        "fitted => document.querySelector('svg.lineage').getBoundingClientRect().width > fitted", arg=fitted + 1
    )
    page.mouse.wheel(0, 100)
    page.mouse.wheel(0, 100)
    page.wait_for_function(
        "fitted => document.querySelector('svg.lineage').getBoundingClientRect().width < fitted", arg=fitted - 1
    )
    page.keyboard.up("Control")
    assert page.evaluate("window.devicePixelRatio") == 1, "the page itself is not zoomed"


def test_a_flow_page_shows_how_late_rows_come_what_is_kept_and_the_checkpoint(page: Page, storage: str) -> None:
    recorded_orders(storage)
    page.goto("/flows/shop.hourly_revenue")
    card = page.get_by_role("region", name="Lateness distribution")
    expect(card).to_contain_text("rows measured")
    histogram = card.get_by_role("group", name="Histogram of lateness")
    rows = histogram.get_by_role("row").all()[1:]
    told = [row.inner_text().replace("\t", " ").split("\n")[0] for row in rows]
    assert any(words.startswith("5 seconds to 10 seconds ") for words in told)
    lost = histogram.get_by_role("row").filter(has_text="Lost")
    expect(lost.first).to_contain_text("10 minutes to 30 minutes")
    expect(lost.first.get_by_role("cell").first).to_have_text("9")
    kept = rows[len(rows) - lost.count() - 1].locator("meter")
    assert _colour(page, kept) != _colour(page, lost.first.locator("meter"))
    for row in rows:
        drawn, count = row.locator("meter"), row.get_by_role("cell").first.inner_text()
        assert (float(str(drawn.get_attribute("value"))) > 0) is (count != "0"), "a row is always seen"
    now = card.get_by_role("group", name="What delays would lose").get_by_role("row", name="10 minutes")
    expect(now).to_contain_text("Now")
    expect(now.get_by_role("cell").first).to_have_text("13")
    expect(card).to_contain_text("penstock watermark shop.hourly_revenue")

    operators = page.get_by_role("region", name="Stateful operators")
    expect(operators.get_by_role("row", name="stateStoreSave")).to_contain_text("33")
    assert operators.locator(".scroll").evaluate("each => each.scrollWidth <= each.clientWidth"), "no column is cut"
    checkpoint = page.get_by_role("region", name="Checkpoint")
    for words in ("Newest batch", "6c1d0a52", "shop.silver_orders read up to", '"reservoirVersion": 10'):
        expect(checkpoint).to_contain_text(words)


def test_failures_of_a_rule_are_drawn_by_batch(page: Page, storage: str) -> None:
    recorded_orders(storage)
    page.goto("/datasets/shop.silver_orders")
    rule = page.get_by_role("row", name="no test order")
    bars = rule.locator("svg.spark rect")
    expect(bars).to_have_count(12)
    heights = [float(str(bar.get_attribute("height"))) for bar in bars.all()]
    assert [round(height) for height in heights[:5]] == [0, 4, 8, 13, 18]
    assert heights[5] == 0
    expect(rule).to_contain_text("21")
    expect(page.get_by_role("row", name="valid time").locator("svg.spark rect").first).to_be_attached()
