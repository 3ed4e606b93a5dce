"""The pictures of the documentation: `python -m tests.browser.screenshots [NAME …]` writes `docs/images/*.png`.

All of them are of the recorded storage, whole pages unless a height or an element is named, on a clock that stands
shortly after the recorded updates. Folders of this machine are shown as those of somebody else.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, Literal

from playwright.sync_api import Browser, Page, sync_playwright
from tests.browser.test_accessibility import read_stored_rows
from tests.recorded.build import FIRST_UPDATE, SECOND_UPDATE, START, first_update, recorded_orders
from tests.recorded.checkpoints import recorded_checkpoints
from tests.recorded.days import DaysRecorder
from tests.recorded.tables import recorded_damage, recorded_storage
from tools.chromium import launch

from penstock.dashboard.serving.access import Access
from penstock.dashboard.serving.background import start_in_background
from penstock.errors import ExternalError
from penstock.events import EventLog, EventType, Level
from penstock.events.alerts import Alert, alert

_IMAGES = Path(__file__).parents[2] / "docs" / "images"
_SETTLES_MS, _WIDE = 1500, 1440
_ENDED: Final = START + timedelta(minutes=91)
_ELSEWHERE: Final = "/home/ada/shop/.penstock"
_MOVED: Final = """([from, to]) => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(from, to);
}"""


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture: of the whole page, or of its first `height` pixels, or of one `element`."""

    path: str
    scheme: Literal["light", "dark"] = "light"
    height: int | None = None
    element: str | None = None
    width: int = 1200


_WHOLE = {
    "dashboard": Picture("/", width=_WIDE),
    "dashboard-dataset": Picture("/datasets/shop.silver_orders"),
    "dashboard-late": Picture("/datasets/shop.hourly_revenue", element="#late"),
    "dashboard-flow": Picture("/flows/shop.hourly_revenue", "dark"),
    "dashboard-updates": Picture("/updates"),
    "dashboard-update": Picture(f"/updates/{FIRST_UPDATE}"),
    "dashboard-compare": Picture("/compare", width=_WIDE),
    "dashboard-events": Picture("/events", "dark", height=560),
}
_FAILED = {"dashboard-problem": Picture("/", height=560), "dashboard-problems": Picture("/problems")}
_ALERTED = {"dashboard-alert": Picture("/", height=440)}
_CHECKED = {"dashboard-checks": Picture("/checks", height=1300)}
_COSTED = {"dashboard-cost": Picture("/cost?price=0.96+USD&goal=30+minutes")}
_LOCKED = {"dashboard-login": Picture("/", height=220)}


def _alert(storage: str) -> None:
    """A table that has become stale after its last run."""
    error = ExternalError("TABLE_STALE", table="shop.silver_orders", age="1 h 5 min", limit="1 h")
    told = Alert("freshness", "shop.silver_orders", None, error.to_json(), _ENDED, _ENDED + timedelta(minutes=65))
    with EventLog.open(storage, pipeline_name="orders", update_id=SECOND_UPDATE) as log:
        log.append(EventType.ALERT, *alert(told), dataset="shop.silver_orders", level=Level.WARN, error=error)


def _take(browser: Browser, storage: str, pictures: dict[str, Picture], access: Access | None = None) -> None:
    wanted = {name: picture for name, picture in pictures.items() if name in sys.argv[1:] or not sys.argv[1:]}
    if not wanted:
        return
    dashboard = start_in_background(storage, port=0, access=access)
    for name, picture in wanted.items():
        page = browser.new_page(
            base_url=dashboard.url,
            viewport={"width": picture.width, "height": picture.height or 900},
            color_scheme=picture.scheme,
            reduced_motion="reduce",
            timezone_id="UTC",
            locale="en-US",
        )
        page.clock.set_fixed_time(_ENDED + timedelta(minutes=70))
        page.goto(picture.path)
        _shoot(page, picture, storage, _IMAGES / f"{name}.png")
        page.close()
    dashboard.stop()


def _shoot(page: Page, picture: Picture, storage: str, file: Path) -> None:
    page.wait_for_timeout(_SETTLES_MS)
    if picture.height is None or picture.path == "/checks":
        read_stored_rows(page)
        page.evaluate("window.scrollTo(0, 0)")
        page.wait_for_timeout(_SETTLES_MS)
    page.locator("footer").evaluate_all("found => found.forEach(each => each.remove())")
    page.evaluate(_MOVED, [storage, _ELSEWHERE])
    if picture.element is not None:
        page.locator(picture.element).screenshot(path=file)
    elif picture.height is not None:
        page.screenshot(path=file)
    else:
        height = page.evaluate("document.querySelector('main').getBoundingClientRect().bottom")
        page.screenshot(path=file, full_page=True, clip={"x": 0, "y": 0, "width": picture.width, "height": height})


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = launch(playwright)
        names = ("whole", "failed", "alerted", "checked", "costed")
        whole, failed, alerted, checked, costed = (f"{folder}/{name}" for name in names)
        recorded_storage(whole)
        _take(browser, whole, _WHOLE)
        _take(browser, whole, _LOCKED, Access(token="not the token of anything"))
        first_update(failed)
        _take(browser, failed, _FAILED)
        recorded_orders(alerted)
        _alert(alerted)
        _take(browser, alerted, _ALERTED)
        recorded_checkpoints(Path(checked))
        recorded_damage(checked)
        _take(browser, checked, _CHECKED)
        DaysRecorder(costed).always_on(86_400, trigger=300)
        _take(browser, costed, _COSTED)
        browser.close()


if __name__ == "__main__":
    main()
