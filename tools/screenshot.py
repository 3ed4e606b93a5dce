"""Takes pictures of a running dashboard with Chromium, for the README and for looking at.

python -m tools.screenshot http://127.0.0.1:8420/ docs/images/dashboard.png [--dark] [--full] [--path /datasets/shop.x]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from urllib.parse import urljoin

from playwright.sync_api import sync_playwright
from tools.chromium import launch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("url", help="the address that `penstock ui` prints")
    parser.add_argument("picture", type=Path, help="the PNG file to write")
    parser.add_argument("--path", default="/", help="the page")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--full", action="store_true", help="the whole page, not only the first screen")
    parser.add_argument("--only", help="a part of the page, as Playwright selects it")
    parser.add_argument("--width", type=int, default=1440)
    parser.add_argument("--height", type=int, default=1000)
    arguments = parser.parse_args()
    arguments.picture.parent.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = launch(playwright)
        context = browser.new_context(
            viewport={"width": arguments.width, "height": arguments.height},
            color_scheme="dark" if arguments.dark else "light",
            reduced_motion="reduce",
        )
        page = context.new_page()
        page.goto(urljoin(arguments.url, arguments.path), wait_until="load")
        page.locator("#pulse[data-state=live]").wait_for()
        if page.locator("#charts").count():
            page.locator("#charts canvas, #charts-empty:not([hidden])").first.wait_for()
        page.locator("[hx-trigger=load] .empty").first.wait_for(state="detached")  # what is looked at after loading
        if arguments.only:
            page.locator(arguments.only).screenshot(path=arguments.picture)
        else:
            page.screenshot(path=arguments.picture, full_page=arguments.full)
        browser.close()
    print(f"wrote {arguments.picture}")


if __name__ == "__main__":
    main()
