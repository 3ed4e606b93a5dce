"""The pictures of the documentation: `python -m tests.browser.screenshots` writes `docs/images/dashboard*.png`."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path
from random import Random

import pyarrow as pa
from deltalake import write_deltalake
from playwright.sync_api import sync_playwright
from tests.browser.conftest import CHROMIUM, FLAGS
from tests.recorded.build import FIRST_UPDATE, SECOND_UPDATE, START, first_update, recorded_orders
from tests.recorded.checkpoints import recorded_checkpoints

from penstock.dashboard import start_in_background
from penstock.dashboard.access import Access
from penstock.errors import ExternalError
from penstock.events import EventLog, EventType, Level
from penstock.events.alerts import Alert, alert
from penstock.graph.identifier import Identifier
from penstock.storage import StorageLayout

_IMAGES = Path(__file__).parents[2] / "docs" / "images"
_WHOLE = {
    "dashboard": ("/", "light", 800),
    "dashboard-dataset": ("/datasets/shop.silver_orders", "light", 1500),
    "dashboard-flow": ("/flows/shop.hourly_revenue", "dark", 1040),
    "dashboard-updates": ("/updates", "light", 360),
    "dashboard-update": (f"/updates/{FIRST_UPDATE}", "light", 760),
    "dashboard-compare": ("/compare", "light", 560),
    "dashboard-events": ("/events", "dark", 560),
}
_CHECKED = {"dashboard-checks": ("/checks", "light", 300)}
_LOCKED = {"dashboard-login": ("/", "light", 220)}
_ALERTED = {"dashboard-alert": ("/", "light", 440)}
_FAILED = {"dashboard-problem": ("/", "light", 560), "dashboard-problems": ("/problems", "light", 560)}


def _rows(storage: str) -> None:
    """Three versions of a table, so that its page has a sample."""
    random = Random(7)
    for version in range(3):
        ids = list(range(1000 * version, 1000 * version + 40))
        names = [random.choice(["ada", "grace", "edsger", None]) for _ in ids]
        amounts = [random.randint(100, 30000) / 100 for _ in ids]
        rows = pa.table({"order_id": pa.array(ids), "customer_id": pa.array(names), "amount": pa.array(amounts)})
        write_deltalake(StorageLayout(storage).table(Identifier("shop", "silver_orders")), rows, mode="append")


def _alert(storage: str) -> None:
    """A table that has become stale after its last run."""
    ended = START + timedelta(minutes=91)
    error = ExternalError("TABLE_STALE", table="shop.silver_orders", age="1 h 5 min", limit="1 h")
    told = Alert("freshness", "shop.silver_orders", None, error.to_json(), ended, ended + timedelta(minutes=65))
    with EventLog.open(storage, pipeline_name="orders", update_id=SECOND_UPDATE) as log:
        log.append(EventType.ALERT, *alert(told), dataset="shop.silver_orders", level=Level.WARN, error=error)


def _take(storage: str, pictures: dict[str, tuple[str, str, int]], access: Access | None = None) -> None:
    dashboard = start_in_background(storage, port=0, access=access)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        for name, (path, scheme, height) in pictures.items():
            page = browser.new_page(
                base_url=dashboard.url,
                viewport={"width": 1200, "height": height},
                color_scheme=scheme,  # type: ignore[arg-type]
                reduced_motion="reduce",
            )
            page.goto(path)
            page.wait_for_timeout(2500)
            page.evaluate("document.querySelector('footer')?.remove()")  # it names a folder of this machine
            page.screenshot(path=_IMAGES / f"{name}.png")
            page.close()
        browser.close()
    dashboard.stop()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole, failed, alerted = (f"{folder}/{name}" for name in ("whole", "failed", "alerted"))
        recorded_orders(whole)
        _rows(whole)
        first_update(failed)
        _take(whole, _WHOLE)
        _take(failed, _FAILED)
        _take(whole, _LOCKED, Access(token="not the token of anything"))
        recorded_orders(alerted)
        _alert(alerted)
        _take(alerted, _ALERTED)
        _take(recorded_checkpoints(Path(folder) / "checked").uri, _CHECKED)


if __name__ == "__main__":
    main()
