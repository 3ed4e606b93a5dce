"""A page that is open while its storage or its dashboard is away: it says so, keeps what it showed, and goes on."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, expect
from tests.recorded.build import first_update, recorded_orders, second_update

from penstock.dashboard.serving.background import start_in_background


def test_a_storage_that_cannot_be_read_is_told_by_the_open_page(page: Page, storage: str, tmp_path: Path) -> None:
    recorded_orders(storage)
    page.goto("/")
    expect(page.locator("svg.lineage .lineage-node")).to_have_count(6)
    events = Path(storage) / "events"
    events.rename(tmp_path / "away")
    events.symlink_to("events")  # a loop, which no right of root opens
    warning = page.get_by_role("region", name="The storage cannot be read")
    for words in ("Too many levels of symbolic links", "Fix", "What you see below was read before"):
        expect(warning).to_contain_text(words, timeout=3000)
    expect(page.locator("svg.lineage .lineage-node")).to_have_count(6)
    events.unlink()
    (tmp_path / "away").rename(events)
    expect(warning).to_have_count(0, timeout=3000)
    expect(page.locator("svg.lineage .lineage-node")).to_have_count(6)


def test_a_dashboard_that_comes_back_is_followed_again(browser: Browser, storage: str) -> None:
    first_update(storage)
    dashboard = start_in_background(storage, port=0)
    port = urlsplit(dashboard.url).port
    context = browser.new_context(base_url=dashboard.url)
    page = context.new_page()  # which may complain: the server is away
    page.goto("/")
    pulse = page.locator("#pulse")
    expect(pulse).to_have_text("Live")
    dashboard.stop()
    expect(pulse).to_have_text("Reconnecting")
    expect(page.locator("#pulse-said")).to_have_text("Updates: Reconnecting")
    second_update(storage)
    again = start_in_background(storage, port=port)
    expect(pulse).to_have_text("Live", timeout=8000)
    expect(page.locator(".head .badge").first).to_have_text("Completed", timeout=3000)
    context.close()
    again.stop()
