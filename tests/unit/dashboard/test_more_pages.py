"""The pages about flows, updates, problems and stored rows, and what can be saved from them."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from starlette.testclient import TestClient
from tests.recorded.build import FIRST_UPDATE, SECOND_UPDATE, first_update, recorded_orders
from tests.recorded.checkpoints import recorded_checkpoints
from tests.unit.dashboard.conftest import client_of

from penstock.cli.doctor_settings import settings_of
from penstock.config import load_project
from penstock.dashboard import stored_tables
from penstock.dashboard.pages.figures import to_csv
from penstock.dashboard.table_reader import answer
from penstock.graph.companions.quarantine import RULES, TIME, quarantine_path
from penstock.graph.identifier import Identifier
from penstock.graph.protection import MASKS
from penstock.storage import StorageLayout

SILVER = Identifier("shop", "silver_orders")


def test_a_failure_says_since_when_which_row_and_what_to_type(storage: str) -> None:
    first_update(storage)
    page = client_of(storage).get("/").text
    assert "1 problem" in page
    assert 'datetime="2026-11-20T09:00:' in page[page.index("<dt>Since</dt>") :]
    assert "{&#34;hour&#34;:&#34;2026-03-01T08:00:00Z&#34;,&#34;revenue&#34;:-12.5}" in page
    assert "<code>penstock explain EXPECTATION_FAILED</code>" in page
    assert "Holds up" in page
    assert page.index("EXPECTATION_FAILED") < page.index('class="tiles"')


def test_the_flow_page(recorded: TestClient) -> None:
    page = recorded.get("/flows/shop.hourly_revenue?flow=hourly_revenue").text
    for shown in (
        "Fell behind",
        "rows arrive at",
        "order_time, 10 minutes",
        "Batch duration by phase",
        "transformations/orders.py:44",
    ):
        assert shown in page
    assert recorded.get("/flows/shop.hourly_revenue").text.count("<h1>hourly_revenue</h1>") == 1
    assert recorded.get("/flows/shop.hourly_revenue?flow=nope").status_code == 404
    assert recorded.get("/flows/shop.paid_orders").status_code == 404
    assert recorded.get("/flows/nope").status_code == 404


def test_updates_lead_to_their_flows_on_a_time_axis(recorded: TestClient) -> None:
    page = recorded.get("/updates").text
    assert page.index(SECOND_UPDATE) < page.index(FIRST_UPDATE)
    one = recorded.get(f"/updates/{FIRST_UPDATE}").text
    assert 'class="lineage gantt"' in one
    assert "gantt-failed" in one
    assert "EXPECTATION_FAILED" in one
    assert recorded.get("/updates/nope").status_code == 404


def test_two_updates_side_by_side(recorded: TestClient) -> None:
    page = recorded.get("/compare").text
    row = page[page.index("into shop.bronze_orders") :]
    read = re.findall(r'<td class="number">([\d,]+)</td>', row)[:2]
    assert 2 * int(read[0].replace(",", "")) == pytest.approx(int(read[1].replace(",", "")), rel=0.2)
    same = recorded.get(f"/compare?before={FIRST_UPDATE}&after={FIRST_UPDATE}").text
    assert "Slower" not in same
    assert recorded.get("/compare?before=nope").status_code == 404
    assert recorded.get("/compare?after=%3Cscript%3E").status_code == 404


def test_errors_so_far_are_grouped_with_their_fix(recorded: TestClient) -> None:
    page = recorded.get("/problems").text
    assert "Nothing is wrong" in page
    assert page.count("penstock explain EXPECTATION_FAILED</code>") == 1


@pytest.mark.parametrize(
    ("query", "rows"),
    [("text=EXPECTATION_failed", 1), ("type=create_update", 2), (f"level=errors&update={FIRST_UPDATE}", 2),
     (f"level=errors&update={SECOND_UPDATE}", 0), ("type=nonsense&level=errors", 2)],
)  # fmt: skip
def test_more_event_filters(recorded: TestClient, query: str, rows: int) -> None:
    assert recorded.get(f"/events?{query}").text.count('<td class="message">') == rows
    saved = recorded.get(f"/events.csv?{query}")
    assert len(list(csv.reader(io.StringIO(saved.text)))) == rows + 1


def test_figures_are_saved_as_csv(recorded: TestClient) -> None:
    saved = recorded.get("/series.csv?dataset=shop.silver_orders")
    assert saved.headers["content-disposition"] == 'attachment; filename="shop.silver_orders.csv"'
    assert saved.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(saved.text)))
    assert [row["batch_id"] for row in rows] == [f"{float(batch)}" for batch in range(12)]
    assert recorded.get("/series.csv?dataset=nope").status_code == 404


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", "  =1"])
def test_no_text_is_a_formula(text: str) -> None:
    header, row = csv.reader(io.StringIO(to_csv([text], [[text]]).decode(), newline=""))
    assert header == row == [f"'{text}"]


def test_numbers_stay_numbers() -> None:
    assert to_csv(["n"], [[-1.5], [None], ["plain"]]) == b'n\r\n-1.5\r\n""\r\nplain\r\n'


@pytest.fixture
def tables(storage: str) -> str:
    """The recorded log with a table of three versions, and a quarantine."""
    recorded_orders(storage)
    uri = StorageLayout(storage).table(SILVER)
    for version in range(3):
        write_deltalake(uri, pa.table({"order_id": [version], "note": [f"<b>{version}</b>"]}), mode="append")
    now = datetime(2026, 11, 20, 9, tzinfo=UTC)
    kept = pa.table(
        {"order_id": [7, 8], RULES: [["positive amount"], ["positive amount", "valid time"]], TIME: [now, now]}
    )
    write_deltalake(quarantine_path(uri), kept)
    return storage


def test_rows_and_versions_of_a_table(tables: str) -> None:
    client = client_of(tables)
    newest = client.get("/stored/table/shop.silver_orders").text
    assert "Version 2, 3 rows" in newest
    assert "&lt;b&gt;2&lt;/b&gt;" in newest
    earlier = client.get("/stored/table/shop.silver_orders?version=0").text
    assert "An earlier version" in earlier
    assert "&lt;b&gt;2&lt;/b&gt;" not in earlier
    assert "hx-get" in earlier


def test_quarantined_rows_with_the_rules_that_they_break(tables: str) -> None:
    page = client_of(tables).get("/stored/quarantine/shop.silver_orders").text
    assert "2 rows, 2 break <b>positive amount</b>, 1 break <b>valid time</b>" in page
    assert "There are none" in client_of(tables).get("/stored/late/shop.silver_orders").text


def asked(storage: str, **more: object) -> dict[str, object]:
    return answer({"kind": "table", "storage": storage, "name": "shop.silver_orders", "path": None, **more})


def test_what_cannot_be_read_is_an_answer(tables: str) -> None:
    assert asked(tables, name="shop.bronze_orders") == {"none": True}
    version = asked(tables, version=99)["error"]
    assert isinstance(version, dict)
    assert version["condition"] == "TABLE_VERSION_NOT_FOUND"
    assert asked(tables, name="../../etc.passwd") == {"none": True}


def test_rows_that_are_not_for_everybody_are_not_shown(tables: str) -> None:
    uri = StorageLayout(tables).table(SILVER)
    protection = {MASKS: json.dumps({"note": {"function": "f"}})}
    DeltaTable(uri).alter.set_table_properties(protection, raise_if_not_exists=False)
    page = client_of(tables).get("/stored/table/shop.silver_orders").text
    assert "&lt;b&gt;" not in page
    assert asked(tables)["error"] is not None


def test_a_storage_that_hangs_does_not_hang_the_page(tables: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_tables, "_SECONDS", 0.01)
    page = client_of(tables).get("/stored/table/shop.silver_orders")
    assert page.status_code == 200
    assert "did not answer" in page.text


@pytest.mark.parametrize(
    "path", ["/stored/nope/shop.silver_orders", "/stored/table/nope", "/stored/table/..%2f..%2fetc"]
)
def test_only_known_datasets_are_read(recorded: TestClient, path: str) -> None:
    assert recorded.get(path).status_code == 404


def test_checks_tell_what_doctor_tells(tmp_path: Path) -> None:
    layout = recorded_checkpoints(tmp_path / "storage")
    client = client_of(layout.uri)
    assert 'hx-get="/checks/findings"' in client.get("/checks").text
    assert "Nothing wrong" in client.get("/checks/findings").text
    (commits,) = Path(layout.checkpoints(Identifier("shop", "raw"), "raw")).glob("*/commits")
    (commits / "11").write_bytes(b"v9\n{}")
    (commits / ".11.crc").unlink()
    page = client_of(layout.uri).get("/checks/findings").text
    assert "1 finding</h2>" in page
    for shown in (
        "<code>penstock explain CHECKPOINT_",
        "<code>penstock checkpoint show shop.raw</code>",
        "<dt>Where</dt>",
    ):
        assert shown in page


def test_checks_show_the_production_checklist_with_the_settings_of_the_pipeline(tmp_path: Path) -> None:
    layout = recorded_checkpoints(tmp_path / "storage")
    page = client_of(layout.uri).get("/checks/findings").text
    assert "Only the storage is known here, not the pipeline file." in page
    (tmp_path / "penstock.yml").write_text(
        "name: shop\ntrigger: once\nalerts: {tables: {'<b>x': {freshness: 1 hour}}}\n"
    )
    settings = settings_of(load_project(tmp_path)).to_json()
    page = client_of(layout.uri, settings=settings).get("/checks/findings").text
    assert "alerts for &lt;b&gt;x" in page
    assert page.index(">Reliability</h2>") < page.index(">Data quality</h2>") < page.index(">Monitoring</h2>")
    assert '<span class="badge warn">Fail</span>' in page
    assert "<code>penstock doctor --explain trigger-set</code>" in page
    assert "The jars of the user who runs the pipeline were not looked at." in page
    assert "<code>spark.<wbr>executor.<wbr>memory</code>" in page
    assert "There are no executors (master local[*])." in page
    assert "<code>penstock tune</code>" in page
