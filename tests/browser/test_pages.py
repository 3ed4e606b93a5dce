"""The graph, the flow page, stored rows, updates and exports, as a person uses them in a real browser."""

from __future__ import annotations

import csv
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
from benchmarks.dashboard.long_log import LogWriter
from deltalake import write_deltalake
from playwright.sync_api import Page, expect
from tests.browser.painted import painted
from tests.browser.test_accessibility import violations
from tests.recorded.build import FIRST_UPDATE, START, first_update, recorded_orders, second_update
from tests.recorded.checkpoints import recorded_checkpoints

from penstock.dashboard.serving.background import Dashboard
from penstock.errors import ExternalError
from penstock.events import EventLog, EventType, Level
from penstock.events.alerts import Alert, alert
from penstock.graph.identifier import Identifier
from penstock.storage import StorageLayout


def test_ten_seconds_at_three_in_the_morning(page: Page, storage: str) -> None:
    """What is wrong, since when, which row, what it holds up and what to type: all on the first screen."""
    first_update(storage)
    page.goto("/")
    trouble = page.get_by_role("region", name="Error of shop.hourly_revenue")
    for words in ("Since", "Nov 20", '"revenue":-12.5', "shop.revenue_report", "Fix", "penstock run", "orders.py:43"):
        expect(trouble).to_contain_text(words)
    box = trouble.bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < 500
    expect(page).to_have_title("(1) orders · Penstock")


def test_a_firing_alert_is_on_the_first_screen_until_it_is_over(page: Page, storage: str) -> None:
    recorded_orders(storage)
    stale = ExternalError("TABLE_STALE", table="shop.silver_orders", age="2 hours", limit="1 hour")
    told = Alert("freshness", "shop.silver_orders", None, stale.to_json(), START, START + timedelta(minutes=5))
    with EventLog.open(storage, pipeline_name="orders", update_id="later") as log:
        log.append(EventType.ALERT, *alert(told), dataset="shop.silver_orders", level=Level.WARN, error=stale)
        page.goto("/")
        trouble = page.get_by_role("region", name="Warning of shop.silver_orders")
        for words in ("is stale", "Since", "09:00", "Freshness, fires since", "09:05", "Fix", "penstock alerts check"):
            expect(trouble).to_contain_text(words)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            assert violations(page) == []
        over = replace(told, resolved=START + timedelta(minutes=9))
        log.append(EventType.ALERT, *alert(over), dataset="shop.silver_orders")
        expect(page.locator(".verdict")).to_have_text("Nothing is wrong", timeout=3000)
    expect(trouble).to_have_count(0)


def test_a_command_is_copied(page: Page, storage: str) -> None:
    first_update(storage)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/")
    page.get_by_role("button", name="Copy penstock run").click()
    assert page.evaluate("navigator.clipboard.readText()") == "penstock run"


def test_the_graph_is_searched_and_zoomed_and_stays_so_while_it_is_renewed(page: Page, storage: str) -> None:
    first_update(storage)
    page.goto("/")
    page.keyboard.press("/")
    page.keyboard.type("silver")
    expect(page.locator("#found")).to_have_text("1 found")
    expect(page.locator("#graph .found")).to_have_count(1)
    expect(page.locator("#datasets tbody tr:visible")).to_have_count(1)
    page.get_by_role("button", name="Zoom in").click()
    wide = page.locator("svg.lineage").evaluate("svg => svg.getBoundingClientRect().width")
    second_update(storage)
    expect(page.locator(".head .badge").first).to_have_text("Completed", timeout=3000)
    expect(page.locator("#graph .found")).to_have_count(1)
    assert page.locator("svg.lineage").evaluate("svg => svg.getBoundingClientRect().width") == wide
    page.locator("#search").press("Enter")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("shop.silver_orders")


def test_a_flow_page_draws_phases_state_and_the_watermark(page: Page, storage: str) -> None:
    recorded_orders(storage)
    page.goto("/datasets/shop.hourly_revenue")
    page.get_by_role("link", name="hourly_revenue", exact=True).first.click()
    for heading in ("Batch duration by phase", "Rows in state", "Watermark behind the clock", "State in memory"):
        expect(page.get_by_role("heading", name=heading)).to_be_visible()
    expect(page.get_by_role("heading", name="Waiting at the source")).to_be_hidden()  # nobody knows
    label = str(page.locator("#chart-phases").get_attribute("aria-label"))
    assert "latest offset 40 ms" in label
    assert "query planning 60 ms" in label
    expect(page.get_by_text("Fell behind").first).to_be_visible()


def test_charts_are_saved(page: Page, storage: str) -> None:
    recorded_orders(storage)
    page.goto("/flows/shop.hourly_revenue")
    expect(page.locator("#charts canvas").first).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save Rows per second as PNG").click()
    assert min(painted(page, "rates", Path(download.value.path()))[:2]) >= 100
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    with Path(download.value.path()).open(newline="") as file:
        assert len(list(csv.reader(file))) == 11


def test_rows_and_versions_of_a_table(page: Page, storage: str) -> None:
    recorded_orders(storage)
    uri = StorageLayout(storage).table(Identifier("shop", "silver_orders"))
    for version in range(2):
        write_deltalake(uri, pa.table({"note": [f"<img src=x onerror=alert({version})>"]}), mode="append")
    page.goto("/datasets/shop.silver_orders")
    section = page.get_by_role("region", name="Rows and versions")
    section.scroll_into_view_if_needed()
    expect(section).to_contain_text("Version 1, 2 rows")
    expect(section).to_contain_text("<img src=x onerror=alert(1)>")
    section.get_by_text("2 versions").click()
    section.get_by_role("button", name="Show version 0").click()
    expect(section).to_contain_text("An earlier version")
    expect(section).not_to_contain_text("alert(1)")


def test_updates_are_compared(page: Page, storage: str) -> None:
    recorded_orders(storage)
    page.goto("/updates")
    page.get_by_role("link", name="Nov 20").last.click()
    expect(page).to_have_url(page.url.split("/updates")[0] + f"/updates/{FIRST_UPDATE}")
    expect(page.locator("svg.gantt .gantt-failed")).to_have_count(1)
    page.goto("/updates")
    page.get_by_role("link", name="Compare the newest two").click()
    row = page.get_by_role("row", name="hourly_revenue into")
    expect(row).to_contain_text("Slower")
    page.set_viewport_size({"width": 1200, "height": 800})
    expect(row.get_by_text("Slower")).to_be_in_viewport(ratio=1)


def test_problems_and_events_are_found(page: Page, storage: str) -> None:
    recorded_orders(storage)
    page.goto("/problems")
    expect(page.locator("main")).to_contain_text("Nothing is wrong")
    expect(page.get_by_role("row", name="EXPECTATION_FAILED")).to_contain_text("penstock explain")
    page.goto("/events")
    page.get_by_label("Containing").fill("coupon")
    expect(page.locator("#live tbody tr")).to_have_count(1)
    assert "text=coupon" in page.url


def test_checks_come_by_themselves(page: Page, storage: str, dashboard: Dashboard) -> None:
    page.goto("/checks")
    expect(page.get_by_text("No update yet")).to_be_visible()
    recorded_checkpoints(Path(storage))
    expect(page.get_by_role("heading", name="Nothing wrong")).to_be_visible()


def test_checks_show_the_production_checklist_by_group(page: Page, storage: str) -> None:
    recorded_orders(storage)
    page.goto("/checks")
    group = page.get_by_role("region", name="Performance")
    row = group.get_by_role("row", name="keeps-up")
    expect(row).to_contain_text("Fail")
    expect(row).to_contain_text("rows arrive at 1,586/s and are processed at 1,208/s")
    expect(row.get_by_role("button", name="Copy penstock doctor --explain keeps-up")).to_be_visible()
    expect(page.get_by_role("region", name="Security").get_by_role("row", name="ports-closed")).to_contain_text(
        "Not applicable"
    )


def test_a_thousand_datasets(page: Page, storage: str) -> None:
    writer = LogWriter(Path(storage), 1000)
    writer.define()
    writer.append_round()
    page.goto("/")
    expect(page.locator("svg.lineage .lineage-node")).to_have_count(1000)
    last = page.locator("#datasets tbody tr", has_text="shop.table_0999")
    expect(last).to_contain_text("990")
    rows = "[...document.querySelectorAll('#datasets tbody tr, svg.lineage .lineage-node')]"
    page.evaluate(f"for (const row of {rows}) row.before = true")
    writer.append_round()
    expect(last).to_contain_text("1,980")
    assert page.evaluate(f"{rows}.filter((row) => row.before).length") == 2000  # changed, not built again
    page.get_by_role("searchbox").fill("table_0777")
    expect(page.locator("#found")).to_have_text("1 found")
    shown = page.locator("#graph .found").bounding_box()
    assert shown is not None
    assert 0 <= shown["x"] < 1440
