"""What is read from tables and storage while a person looks: rows, quarantine, late rows, versions, findings."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect
from tests.recorded.checkpoints import recorded_checkpoints
from tests.recorded.tables import LATE, QUARANTINED, recorded_damage, recorded_storage


def test_rows_versions_and_quarantine_of_a_table(page: Page, storage: str) -> None:
    recorded_storage(storage)
    page.goto("/datasets/shop.silver_orders")
    rows = page.get_by_role("region", name="Rows and versions")
    rows.scroll_into_view_if_needed()
    expect(rows).to_contain_text("Version 2, the first 50 rows")
    expect(rows.get_by_role("columnheader", name="customer_id")).to_be_visible()
    expect(rows.locator(".cells tbody tr")).to_have_count(50)
    expect(rows.locator(".cells .quiet", has_text="null").first).to_be_visible()
    rows.get_by_text("3 versions").click()
    rows.get_by_role("button", name="Show version 0").click()
    expect(rows).to_contain_text("An earlier version")
    expect(rows.locator(".cells tbody tr")).to_have_count(40)
    rows.get_by_role("button", name="Newest").click()
    expect(rows).to_contain_text("Version 2, the first 50 rows")

    aside = page.get_by_role("region", name="Quarantined rows")
    aside.scroll_into_view_if_needed()
    expect(aside).to_contain_text(f"{QUARANTINED} rows, {QUARANTINED} break no test order")
    expect(aside.locator(".cells tbody tr")).to_have_count(QUARANTINED)
    expect(aside.get_by_role("row", name="test-1").first).to_contain_text('["no test order"]')
    expect(page.get_by_role("region", name="Late rows")).to_be_hidden()


def test_late_rows_of_a_table(page: Page, storage: str) -> None:
    recorded_storage(storage)
    page.goto("/datasets/shop.hourly_revenue#late")
    late = page.get_by_role("region", name="Late rows")
    late.scroll_into_view_if_needed()
    expect(late).to_contain_text(f"{LATE} rows, up to 45 min behind the watermark")
    expect(late.get_by_role("columnheader", name="_late_seconds")).to_be_visible()
    expect(late.locator(".cells tbody tr")).to_have_count(LATE)
    expect(page.get_by_role("region", name="Quarantined rows")).to_be_hidden()


def test_a_table_that_was_never_made_says_so(page: Page, storage: str) -> None:
    recorded_storage(storage)
    page.goto("/datasets/shop.bronze_orders")
    rows = page.get_by_role("region", name="Rows and versions")
    rows.scroll_into_view_if_needed()
    expect(rows).to_contain_text("It has no rows yet")


def test_findings_and_another_look(page: Page, storage: str) -> None:
    recorded_checkpoints(Path(storage))
    recorded_damage(storage)
    page.goto("/checks")
    expect(page.get_by_role("heading", name="3 findings")).to_be_visible()
    table = page.get_by_role("region", name="Error of shop.revenue_report")
    for words in ("cannot be read", "Where", "tables/shop/revenue_report", "Fix", "penstock show shop.revenue_report"):
        expect(table).to_contain_text(words)
    lock = page.get_by_role("region", name="Warning").filter(has_text="STORAGE_LOCK_LEFT")
    for words in ("laptop.example", "Since", "penstock run"):
        expect(lock).to_contain_text(words)
    expect(page.get_by_role("region", name="Warning").filter(has_text="EVENT_LOG_LINES_SKIPPED")).to_contain_text(
        ".jsonl:"
    )
    (Path(storage) / "lock.json").unlink()
    page.wait_for_timeout(3000)  # the same question is answered from memory until then
    page.get_by_role("button", name="Look again").click()
    expect(page.get_by_role("heading", name="2 findings")).to_be_visible()
    expect(lock).to_have_count(0)
