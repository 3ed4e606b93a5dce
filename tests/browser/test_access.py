"""Logging in and starting runs, in a real browser: the policy of the pages lets their own forms through."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import Complaints
from tests.browser.test_accessibility import violations
from tests.recorded.build import recorded_orders

from penstock.dashboard.serving.access import Access
from penstock.dashboard.serving.background import start_in_background

TOKEN = "a-token-of-enough-characters"
_PROGRAM = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(repr(sys.argv[2:]))"


@pytest.fixture
def started(tmp_path: Path) -> Path:
    """What the command that stands for `penstock run` writes: the options that it was given."""
    return tmp_path / "started"


@pytest.fixture
def acting(browser: Browser, storage: str, started: Path) -> Iterator[Page]:
    recorded_orders(storage)
    command = (sys.executable, "-c", _PROGRAM, str(started))
    dashboard = start_in_background(storage, port=0, access=Access(token=TOKEN, run_command=command))
    context = browser.new_context(base_url=dashboard.url, viewport={"width": 1440, "height": 900})
    page, complaints = context.new_page(), Complaints()
    page.set_default_timeout(10_000)
    complaints.listen(page, dashboard.url)
    yield page
    context.close()
    dashboard.stop()
    assert [each for each in complaints if "401" not in each] == []


def test_a_person_logs_in_and_starts_runs(acting: Page, started: Path) -> None:
    acting.goto("/datasets/shop.silver_orders")
    expect(acting).to_have_url(re.compile("/login$"))
    assert violations(acting) == []
    acting.get_by_label("Token").fill("another-token-of-that-length")
    acting.keyboard.press("Enter")
    expect(acting.get_by_role("alert")).to_have_text("That is not the token.")
    acting.get_by_label("Token").fill(TOKEN)
    acting.keyboard.press("Enter")
    expect(acting.get_by_role("heading", level=1)).to_have_text("orders")
    assert violations(acting) == []
    acting.get_by_role("button", name="Start a run").click()
    assert _options(started) == "[]"
    acting.goto("/datasets/shop.silver_orders")
    acting.get_by_role("button", name="Refresh", exact=True).click()
    expect(acting.get_by_role("heading", level=1)).to_have_text("shop.silver_orders")
    assert _options(started) == "['--refresh', 'shop.silver_orders']"


def _options(started: Path) -> str:
    until = time.monotonic() + 10
    while not (started.exists() and started.read_text()) and time.monotonic() < until:
        time.sleep(0.02)
    told = started.read_text()
    started.unlink()
    return told
