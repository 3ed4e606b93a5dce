"""The Chromium that `make test` fetches where the machine has none."""

import pytest
from playwright.sync_api import Playwright
from tools.chromium import launch_from_registry


@pytest.mark.slow  # fetches 70 MB; a machine without a Chromium runs all tests of this folder in it
def test_the_one_from_the_registry_shows_a_page_with_its_own_libraries_and_fonts(playwright: Playwright) -> None:
    chromium = launch_from_registry(playwright)
    page = chromium.new_page()
    page.set_content("<h1 style='display:inline-block'>orders</h1>")
    width = page.evaluate("document.querySelector('h1').getBoundingClientRect().width")
    chromium.close()
    assert width > 0, "no font"
