"""The overview of many datasets in Chromium: loaded, updated by an event, searched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from playwright.sync_api import expect, sync_playwright
from tools.chromium import launch

from benchmarks.dashboard.long_log import LogWriter

_LOADS: Final = 3
_UPDATE_CLOCK: Final = """() => {
  document.addEventListener("htmx:beforeRequest", () => { window.asked = performance.now(); });
  document.addEventListener("penstock-morphed", () => { window.morphed = performance.now() - window.asked; });
}"""
_SEARCH: Final = """() => {
  const began = performance.now();
  const input = document.getElementById("search");
  input.value = "table_0077";
  input.dispatchEvent(new Event("input", { bubbles: true }));
  document.querySelector("#graph .found").getBoundingClientRect();
  return performance.now() - began;
}"""


def browser_timings(url: str, writer: LogWriter) -> Iterator[tuple[str, float, float]]:
    """What was timed, its seconds and the goal; `writer` has written one round to the log that `url` shows."""
    with sync_playwright() as playwright:
        chromium = launch(playwright)
        page = chromium.new_page()
        page.goto(url)
        last = page.locator("#datasets tbody tr", has_text=f"shop.table_{writer.tables - 1:04}")
        expect(last).to_contain_text("990", timeout=30_000)
        loads = []
        for _ in range(_LOADS):
            page.reload()
            loads.append(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd"))
        yield "load, best", min(loads) / 1000, 1.0
        page.evaluate(_UPDATE_CLOCK)
        writer.append_round()
        expect(last).to_contain_text("1,980", timeout=30_000)
        page.wait_for_function("window.morphed")
        yield "live update", page.evaluate("window.morphed") / 1000, 1.0
        yield "search", page.evaluate(_SEARCH) / 1000, 0.5
        chromium.close()
