"""The dashboard as a person uses it, in a real browser, on a recorded log."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from playwright.sync_api import Browser, Page, Route, expect
from tests.browser.conftest import Complaints
from tests.browser.painted import painted
from tests.recorded.build import SECOND_UPDATE, START, _Update, first_update, recorded_orders

from penstock.dashboard.serving.background import Dashboard
from penstock.errors import DataError
from penstock.events import FlowStatus, UpdateState
from penstock.storage import LockOwner, Storage, StorageLock


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
    for chart, lines in (("rates", 2), ("durations", 1), ("backlog", 0), ("rows", 2)):
        assert min(painted(page, chart)[:lines], default=20) >= 20, chart
    assert "Processed rate 1." in str(page.locator("#chart-rates").get_attribute("aria-label"))
    page.get_by_text("The figures behind the charts").click()
    expect(page.locator("#figures tr")).to_have_count(12)


def test_a_batch_that_stands_alone_is_seen(page: Page, storage: str) -> None:
    """As a pipeline leaves them that runs once an hour and finds one batch each time."""
    for run in range(3):
        update = _Update(storage, f"update-{run}", START + timedelta(hours=run), seed=run)
        update.begin()
        update.bronze(run, backlog_files=0)
        update.state(UpdateState.COMPLETED)
        update.log.close()
    page.goto("/flows/shop.bronze_orders")
    expect(page.locator("#chart-phases canvas")).to_be_visible()
    assert min(painted(page, "rates")[:2]) >= 3
    everything_else, _, compute_and_write, *_, find_new_data = painted(page, "phases")
    assert min(everything_else, compute_and_write, find_new_data) >= 30
    with page.expect_download() as download:
        page.get_by_role("button", name="Save Batch duration by phase as PNG").click()
    assert painted(page, "phases", Path(download.value.path()))[2] >= 30


def test_pages_follow_a_running_update(page: Page, storage: str) -> None:
    first_update(storage)
    with _running_update(storage) as update:
        page.goto("/")
        row = page.get_by_role("row", name="shop.silver_orders streaming table")
        expect(row).to_contain_text("Running")
        before = str(row.text_content())
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
    expect(page.locator("#live tbody tr").first).to_contain_text("orders is COMPLETED")
    page.get_by_label("Show").select_option("errors")
    expect(page.locator("#live tbody tr")).to_have_count(2)
    page.get_by_label("Dataset").and_(page.locator("[name=dataset]")).select_option("shop.hourly_revenue")
    expect(page.locator("#live tbody tr")).to_have_count(1)
    assert "level=errors" in page.url
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    with Path(download.value.path()).open(newline="") as file:
        assert [(row["level"], row["dataset"]) for row in csv.DictReader(file)] == [("ERROR", "shop.hourly_revenue")]
    page.reload()
    expect(page.locator("#live tbody tr")).to_have_count(1)


def test_a_failure_is_counted_in_the_header_of_an_open_page(page: Page, storage: str) -> None:
    with _running_update(storage) as update:
        page.goto("/events")
        counter = page.locator("#problem-count")
        expect(counter).to_be_hidden()
        error = DataError("FLOW_FAILED", dataset="shop.silver_orders", flow="silver_orders", detail="for the test")
        update.status("silver_orders", FlowStatus.FAILED, error.message, error=error)
        expect(counter).to_have_text("1", timeout=3000)
        expect(counter).to_be_visible()


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
    with _running_update(storage) as update:
        page.route("**/", _fetched_every_2500_ms)
        page.goto("/")
        button, row = page.locator("#pulse"), page.get_by_role("row", name="shop.bronze_orders streaming table")
        expect(button).to_have_text("Live")
        told = update.bronze(4, backlog_files=3)
        expect(row).to_contain_text(f"{told:,}")
        told += update.bronze(5, backlog_files=3)
        page.wait_for_timeout(800)  # the page has heard of this batch, and waits before it fetches it
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        expect(button).to_have_text("Paused")
        before = str(row.text_content())
        told += update.bronze(6, backlog_files=3)
        page.wait_for_timeout(2200)
        assert row.text_content() == before
        button.click()
        expect(button).to_have_text("Live")
        expect(row).to_contain_text(f"{told:,}")


def _fetched_every_2500_ms(route: Route) -> None:
    """As a page of many datasets is, which is big."""
    answer = route.fetch()
    route.fulfill(response=answer, body=answer.text().replace('data-pace="0"', 'data-pace="2500"'))


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
