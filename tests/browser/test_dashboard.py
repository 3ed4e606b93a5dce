"""The dashboard as a person uses it, in a real browser, on a recorded log."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import Complaints
from tests.recorded.build import SECOND_UPDATE, START, _Update, first_update, recorded_orders, second_update

from penstock.dashboard import Dashboard
from penstock.events import FlowStatus
from penstock.storage import LockOwner, Storage, StorageLock

_PAINTED = """canvas => {
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const colours = new Set();
  for (let at = 0; at < pixels.length; at += 4) if (pixels[at + 3] > 200) colours.add(`${pixels[at]},${pixels[at + 1]},${pixels[at + 2]}`);
  return colours.size;
}"""  # noqa: E501 - one expression of another language


@contextmanager
def _running_update(storage: str) -> Iterator[_Update]:
    """An update whose process is alive: it holds the lock."""
    Storage(storage).makedirs()
    with StorageLock(Storage(storage), LockOwner.current("penstock run")):
        update = _Update(storage, SECOND_UPDATE, START + timedelta(minutes=90), seed=3)
        update.begin()
        for flow in ("bronze_orders", "silver_orders"):
            update.status(flow, FlowStatus.STARTING)
            update.status(flow, FlowStatus.RUNNING)
        try:
            yield update
        finally:
            update.log.close()


def test_graph_leads_to_a_dataset_whose_charts_are_drawn(page: Page, storage: str) -> None:
    recorded_orders(storage)
    page.goto("/")
    expect(page.locator("svg.lineage .lineage-node")).to_have_count(6)
    expect(page.get_by_role("heading", level=1)).to_have_text("orders")
    page.locator("svg.lineage a", has_text="silver_orders").click()
    expect(page).to_have_url(page.url.split("/datasets")[0] + "/datasets/shop.silver_orders")
    expect(page.locator("#charts canvas")).to_have_count(4)
    for canvas in page.locator("#charts canvas").all():
        assert canvas.evaluate(_PAINTED) > 4
    assert "Processed rate 1." in str(page.locator("#chart-rates").get_attribute("aria-label"))
    page.get_by_text("The figures behind the charts").click()
    expect(page.locator("#figures tr")).to_have_count(12)


def test_pages_follow_a_running_update(page: Page, storage: str) -> None:
    first_update(storage)
    with _running_update(storage) as update:
        page.goto("/")
        row = page.get_by_role("row", name="shop.silver_orders streaming table")
        expect(row).to_contain_text("Running")
        before = row.inner_text()
        update.silver(4, update.bronze(4, backlog_files=3))
        expect(row).not_to_have_text(before, timeout=3000)
        expect(page.locator("svg.lineage .lineage-live").first).to_be_attached()

        page.goto("/datasets/shop.silver_orders")
        page.get_by_text("The figures behind the charts").click()
        expect(page.locator("#figures tr")).to_have_count(5)
        update.silver(5, update.bronze(5, backlog_files=3))
        expect(page.locator("#figures tr")).to_have_count(6, timeout=3000)
        expect(page.locator("details.figures")).to_have_attribute("open", "")


def test_a_killed_run_is_shown_as_failed_without_reloading(page: Page, storage: str) -> None:
    with _running_update(storage):
        page.goto("/")
        expect(page.locator(".head .badge")).to_have_text("Running")
    expect(page.locator(".head .badge")).to_have_text("Failed", timeout=3000)
    expect(page.locator(".trouble")).to_contain_text("UPDATE_INTERRUPTED")


def test_an_empty_storage_fills_while_the_page_is_open(page: Page, storage: str) -> None:
    page.goto("/")
    expect(page.locator(".empty")).to_contain_text("penstock run")
    recorded_orders(storage)
    expect(page.locator("svg.lineage .lineage-node")).to_have_count(6, timeout=3000)
    shutil.rmtree(Path(storage))
    expect(page.locator(".empty")).to_contain_text("penstock run", timeout=3000)
    first_update(storage)
    expect(page.locator(".head .badge")).to_have_text("Failed", timeout=3000)


def test_a_failure_shows_what_is_wrong_and_what_to_type(page: Page, storage: str) -> None:
    first_update(storage)
    page.goto("/")
    trouble = page.get_by_role("region", name="Error of shop.hourly_revenue")
    expect(trouble).to_contain_text("EXPECTATION_FAILED")
    expect(trouble).to_contain_text("Fix")
    expect(trouble).to_contain_text("transformations/orders.py:43")


def test_events_are_filtered_in_place(page: Page, storage: str) -> None:
    recorded_orders(storage)
    page.goto("/events")
    expect(page.locator("#live tbody tr").first).to_contain_text("orders is complete")
    page.get_by_label("Show").select_option("errors")
    expect(page.locator("#live tbody tr")).to_have_count(2)
    page.get_by_label("Dataset").and_(page.locator("[name=dataset]")).select_option("shop.hourly_revenue")
    expect(page.locator("#live tbody tr")).to_have_count(1)
    assert "level=errors" in page.url
    page.reload()
    expect(page.locator("#live tbody tr")).to_have_count(1)


def test_the_keyboard_reaches_everything_and_keeps_its_place(page: Page, storage: str) -> None:
    with _running_update(storage) as update:
        page.goto("/")
        page.keyboard.press("Tab")
        expect(page.locator(":focus")).to_have_text("Skip to content")
        page.keyboard.press("Enter")
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.closest('svg.lineage a') !== null"):
                break
        focused = page.evaluate("document.activeElement.getAttribute('href')")
        assert focused.startswith("/datasets/")
        before = str(page.locator("svg.lineage").text_content())
        update.bronze(4, backlog_files=3)
        expect(page.locator("svg.lineage")).not_to_have_text(before, timeout=3000)
        assert page.evaluate("document.activeElement.getAttribute('href')") == focused
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text(focused.removeprefix("/datasets/"))


def test_live_updates_can_be_paused(page: Page, storage: str) -> None:
    second_update(storage)
    page.goto("/")
    button = page.locator("#pulse")
    expect(button).to_have_text("Live")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(button).to_have_text("Paused")
    button.click()
    expect(button).to_have_text("Live")


def test_dark_mode_and_a_narrow_screen(
    browser: Browser, dashboard: Dashboard, storage: str, complaints: Complaints
) -> None:
    recorded_orders(storage)
    context = browser.new_context(
        base_url=dashboard.url, viewport={"width": 390, "height": 800}, color_scheme="dark", has_touch=True
    )
    page = context.new_page()
    complaints.listen(page, dashboard.url)
    for path in ("/", "/datasets/shop.silver_orders", "/events"):
        page.goto(path)
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert max(int(part) for part in background.removeprefix("rgb(").removesuffix(")").split(",")) < 60
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    context.close()


def test_a_dataset_named_like_a_script_stays_text(page: Page, storage: str) -> None:
    hostile = "shop.<script>alert(1)</script>\"'&x"
    update = _Update(storage, SECOND_UPDATE, START, seed=1)
    update.begin()
    update.log.close()
    segment = next((Path(storage) / "events").iterdir())
    escaped = hostile.replace('"', '\\\\\\"')
    segment.write_text(segment.read_text().replace("shop.silver_orders", escaped))
    page.goto("/")
    expect(page.get_by_role("row", name="alert(1)").first).to_be_visible()
    page.get_by_role("row", name="alert(1)").first.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(hostile)
    page.goto("/events")
    expect(page.get_by_label("Dataset").and_(page.locator("[name=dataset]"))).to_contain_text(hostile)
