"""Two hundred viewers while ten thousand events a minute are written: a person still sees them soon."""

from __future__ import annotations

import http.client
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from benchmarks.dashboard.long_log import LogWriter
from playwright.sync_api import Page, expect

from penstock.dashboard.serving.background import Dashboard

_VIEWERS, _A_MINUTE, _SECONDS, _TABLES = 200, 10_000, 20, 20


@pytest.mark.slow
def test_two_hundred_viewers(page: Page, storage: str, dashboard: Dashboard) -> None:
    writer = LogWriter(Path(storage), _TABLES)
    writer.define()
    writer.rounds(100_000)
    until = time.monotonic() + _SECONDS
    pages, broken = [0], list[str]()

    def view() -> None:
        try:
            stream = http.client.HTTPConnection(urlsplit(dashboard.url).netloc, timeout=30)
            stream.request("GET", "/live")
            told = stream.getresponse()
            fetches = http.client.HTTPConnection(urlsplit(dashboard.url).netloc, timeout=30)
            while time.monotonic() < until:
                while not told.readline().startswith(b"data: "):
                    pass
                fetches.request("GET", "/", headers={"Accept-Encoding": "gzip"})
                if fetches.getresponse().read():
                    pages[0] += 1
                fetches.close()  # else the server closes it when it is idle for long, as it may
            stream.close()
        except OSError as error:
            broken.append(repr(error))

    viewers = [threading.Thread(target=view, daemon=True) for _ in range(_VIEWERS)]
    for viewer in viewers:
        viewer.start()
    page.goto("/")
    seen = []
    while time.monotonic() < until:
        writer.append_round()
        began = time.monotonic()
        row = page.get_by_role("row", name="shop.table_0000 streaming table")
        expect(row).to_contain_text(f"{990 * writer.batches:,}", timeout=10_000)
        seen.append(time.monotonic() - began)
        time.sleep(max(0.0, 60 * 2 * _TABLES / _A_MINUTE - seen[-1]))
    while any(viewer.is_alive() for viewer in viewers) and time.monotonic() < until + 30:
        writer.append_round()  # each waits for one more change before it looks at the clock
        time.sleep(0.5)
    assert broken == []
    assert pages[0] > _VIEWERS
    print(f"{pages[0]} pages fetched; seen after {sorted(seen)[len(seen) // 2]:.2f} s, at most {max(seen):.2f} s")
    assert sorted(seen)[len(seen) // 2] < 1
