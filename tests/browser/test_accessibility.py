"""Every page, light and dark, wide and narrow, looked at by axe; rules and their meaning: vendor/VENDORED.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests.browser.conftest import Complaints
from tests.recorded.build import FIRST_UPDATE, first_update, recorded_orders

from penstock.dashboard import Dashboard

_AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
PAGES = (
    "/",
    "/datasets/shop.silver_orders",
    "/flows/shop.hourly_revenue",
    "/problems",
    "/updates",
    f"/updates/{FIRST_UPDATE}",
    "/compare",
    "/events?level=all",
    "/checks",
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(
    browser: Browser, dashboard: Dashboard, storage: str, complaints: Complaints, scheme: str
) -> None:
    recorded_orders(storage)
    width = 1440 if scheme == "light" else 390
    context = browser.new_context(
        base_url=dashboard.url,
        viewport={"width": width, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
        reduced_motion="reduce",
    )
    page = context.new_page()
    found: dict[str, list[str]] = {}
    for path in PAGES if scheme == "light" else PAGES[:3]:
        page.goto(path)
        page.wait_for_timeout(100)
        found[path] = violations(page)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path
    context.close()
    assert {path: each for path, each in found.items() if each} == {}


def test_axe_finds_nothing_at_a_failure(page: Page, storage: str) -> None:
    first_update(storage)
    page.goto("/")
    assert violations(page) == []


def test_axe_does_find_what_is_wrong(page: Page, storage: str) -> None:
    recorded_orders(storage)
    page.goto("/events")
    level = "document.querySelector('select[name=level]')"
    page.evaluate(f"{level}.closest('label').replaceWith({level})")
    assert any(each.startswith("select-name") for each in violations(page))
