"""Every page, light and dark, wide and narrow, looked at by axe; rules and their meaning: vendor/VENDORED.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import Complaints
from tests.recorded.build import FIRST_UPDATE, first_update, recorded_orders
from tests.recorded.tables import recorded_damage, recorded_storage

from penstock.dashboard.serving.background import Dashboard, start_in_background

_AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
PAGES = (
    "/",
    "/datasets/shop.silver_orders",
    "/datasets/shop.hourly_revenue",
    "/flows/shop.hourly_revenue",
    "/problems",
    "/updates",
    f"/updates/{FIRST_UPDATE}",
    "/compare",
    "/events?level=all",
    "/checks",
    "/cost",
    "/datasets/nope",
)


def violations(page: Page) -> list[str]:
    """Returns what axe finds, one line each; its script runs beside the page's content policy."""
    page.evaluate(_AXE)
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations'], elementRef: false})")
    return [
        f"{each['id']}: {each['help']} at {[node['target'] for node in each['nodes']][:3]}"
        for each in found["violations"]
    ]


def read_stored_rows(page: Page) -> None:
    """Scrolls to each table of stored rows, and waits for them and for the findings of the checks."""
    for place in page.locator("[hx-trigger='intersect once']").all():
        if place.is_visible():
            place.scroll_into_view_if_needed()
            expect(place.locator("table, strong").first).to_be_visible()
    if page.url.endswith("/checks"):
        expect(page.get_by_role("heading", name="findings")).to_be_visible()


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    """A storage in which each element of the pages has something to show."""
    folder = str(tmp_path_factory.mktemp("accessibility") / "storage")
    recorded_storage(folder)
    recorded_damage(folder)
    running = start_in_background(folder, port=0)
    yield running
    running.stop()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
def test_axe_finds_nothing(
    browser: Browser, everything: Dashboard, complaints: Complaints, scheme: Literal["light", "dark"], width: int
) -> None:
    context = browser.new_context(
        base_url=everything.url,
        viewport={"width": width, "height": 900},
        color_scheme=scheme,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.set_default_timeout(10_000)
    found: dict[str, list[str]] = {}
    for path in PAGES:
        page.goto(path)
        page.wait_for_timeout(100)
        read_stored_rows(page)
        found[path] = violations(page)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path
    context.close()
    assert {path: each for path, each in found.items() if each} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_at_a_failure(page: Page, storage: str, scheme: Literal["light", "dark"]) -> None:
    first_update(storage)
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.goto("/")
    assert violations(page) == []


def test_axe_does_find_what_is_wrong(page: Page, storage: str) -> None:
    recorded_orders(storage)
    page.goto("/events")
    level = "document.querySelector('select[name=level]')"
    page.evaluate(f"{level}.closest('label').replaceWith({level})")
    assert any(each.startswith("select-name") for each in violations(page))
