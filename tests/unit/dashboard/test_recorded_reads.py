"""The dashboard records who sees rows and who downloads events; pages without rows are nobody's business."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.recorded.build import recorded_orders

from penstock.dashboard.application import create_application
from penstock.dashboard.known_pipeline import KnownPipeline
from penstock.dashboard.log.live_log import LiveLog
from penstock.dashboard.serving.access import Access
from penstock.events.flows.facts import details_of
from penstock.events.log.reads import ReadAudit, recorded_reads
from penstock.graph.identifier import Identifier
from penstock.storage import StorageLayout

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # starlette would rather have another client than httpx
    from starlette.testclient import TestClient

TOKEN = "a-token-that-cannot-be-guessed-0123456789"
TABLE = "/stored/table/shop.silver_orders"


@pytest.fixture
def tables(storage: str) -> str:
    recorded_orders(storage)
    uri = StorageLayout(storage).table(Identifier("shop", "silver_orders"))
    for number in range(2):
        write_deltalake(uri, pa.table({"order_id": [number]}), mode="append")
    return storage


def client_of(storage: str, *, required: bool = False, token: str | None = None) -> TestClient:
    audit = ReadAudit(storage, "orders", required=required)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    app = create_application(LiveLog(storage), Access(token=token), pipeline=KnownPipeline(audit=audit))
    return TestClient(app, base_url="http://127.0.0.1:8420", headers=headers, client=("192.0.2.7", 50000))


def arguments(storage: str) -> list[dict[str, Any]]:
    return [details_of(each.event)["arguments"] for each in recorded_reads(storage) if each.event is not None]


def test_rows_and_downloads_are_recorded(tables: str) -> None:
    client = client_of(tables, token=TOKEN)
    assert client.get(TABLE).status_code == 200
    assert client.get(f"{TABLE}?version=0").status_code == 200
    assert client.get("/events.csv?text=orders").status_code == 200
    newest, earlier, download = arguments(tables)
    assert (newest["tables"], newest["command"], newest["login"]) == (["shop.silver_orders"], "rows", "token")
    assert newest["rows"] > 0
    assert earlier["version"] == 0
    assert (download["tables"], download["command"], download["filter"]) == (["event_log"], "events.csv", "text=orders")
    (first, *_) = recorded_reads(tables)
    assert first.event is not None
    who = details_of(first.event)
    assert (who["user_name"], who["through"], who["from"]) == (None, "dashboard", "192.0.2.7")
    assert TOKEN not in (Path(tables) / "reads" / "000001.jsonl").read_text()


def test_each_viewer_is_recorded_also_of_an_answer_that_is_shared(tables: str) -> None:
    client = client_of(tables)
    for _ in range(2):
        client.get(TABLE)
    assert [each["login"] for each in arguments(tables)] == ["none", "none"]


def test_pages_without_rows_are_not_recorded(tables: str) -> None:
    client = client_of(tables)
    for path in ("/", "/datasets/shop.silver_orders", "/events", "/series.csv?dataset=shop.silver_orders", "/checks"):
        assert client.get(path).status_code == 200
    assert not (Path(tables) / "reads").exists()


def test_without_a_place_for_the_record_the_page_says_so(tables: str) -> None:
    (Path(tables) / "reads").write_text("")
    page = client_of(tables).get(TABLE).text
    assert "This read is not recorded" in page
    assert "<table" in page


def test_a_required_record_refuses_rows_and_downloads(tables: str) -> None:
    (Path(tables) / "reads").write_text("")
    client = client_of(tables, required=True)
    page = client.get(TABLE).text
    assert "cannot be recorded" in page
    assert "<td" not in page
    assert client.get("/events.csv").status_code == 403
