"""A real Chromium, and a dashboard over a recorded log that a test can let grow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright
from tools.chromium import launch

from penstock.dashboard.serving.background import Dashboard, start_in_background

expect.set_options(timeout=20_000)  # a busy machine is not a fault of the page


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    chromium = launch(playwright)
    yield chromium
    chromium.close()


class Complaints(list[str]):
    """What the browser said against the page: errors, refused content, requests to elsewhere."""

    def listen(self, page: Page, origin: str) -> None:
        page.on("console", lambda message: self.append(message.text) if message.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: self.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(origin) else self.append(request.url))


@pytest.fixture
def complaints() -> Iterator[Complaints]:
    found = Complaints()
    yield found
    assert found == []


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return str(tmp_path / "storage")


@pytest.fixture
def dashboard(storage: str) -> Iterator[Dashboard]:
    running = start_in_background(storage, port=0)
    yield running
    running.stop()


@pytest.fixture
def page(browser: Browser, dashboard: Dashboard, complaints: Complaints) -> Iterator[Page]:
    context = browser.new_context(base_url=dashboard.url, viewport={"width": 1440, "height": 900}, color_scheme="light")
    page = context.new_page()
    page.set_default_timeout(10_000)
    complaints.listen(page, dashboard.url)
    yield page
    context.close()
