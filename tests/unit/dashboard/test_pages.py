from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.recorded.build import RECORDED, first_update, recorded_orders
from tests.unit.dashboard.conftest import client_of

from penstock.dashboard.log.live_log import LiveLog
from penstock.errors import ExternalError
from penstock.events import EventLog, EventType, Level
from penstock.events import builders as say
from penstock.storage import LockOwner, StorageLock


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look reads the log."""
    monkeypatch.setattr("penstock.dashboard.log.live_log._FRESH_SECONDS", 0.0)


def test_overview_shows_datasets_graph_and_events(recorded: TestClient) -> None:
    page = recorded.get("/").text
    for name in ("bronze_orders", "paid_orders", "silver_orders", "hourly_revenue", "revenue_report"):
        assert f'href="/datasets/shop.{name}"' in page
    assert "<svg" in page
    assert "Completed" in page


def test_dataset_page(recorded: TestClient) -> None:
    page = recorded.get("/datasets/shop.silver_orders").text
    for shown in (
        "transformations/orders.py:30",
        "positive amount",
        "amount &gt; 0",
        "customer_id",
        "is dropped and counted",
    ):
        assert shown in page


def test_dataset_names_ignore_case(recorded: TestClient) -> None:
    assert recorded.get("/datasets/SHOP.Silver_Orders").status_code == 200


def test_failure_shows_condition_place_and_fix(storage: str) -> None:
    first_update(storage)
    client = client_of(storage)
    for path in ("/", "/datasets/shop.hourly_revenue"):
        page = client.get(path).text
        assert "EXPECTATION_FAILED" in page
        assert "transformations/orders.py:43" in page


def test_a_flow_that_waits_for_its_next_try_shows_why_and_until_when(storage: str) -> None:
    error, at = ExternalError("KAFKA_UNREACHABLE", servers="broker:9092"), datetime(2026, 11, 20, 9, 1, tzinfo=UTC)
    with (
        StorageLock(storage, LockOwner.current()),  # the run goes on
        EventLog.open(storage, pipeline_name="orders", update_id="u") as log,
    ):
        log.append(EventType.CREATE_UPDATE, *say.create_update(pipeline="orders", cause="USER_ACTION", version="1"))
        defined = say.dataset_definition("shop.orders", dataset_type="STREAMING_TABLE")
        log.append(EventType.DATASET_DEFINITION, *defined, dataset="shop.orders")
        waits = say.flow_retry("orders", pause=60, at=at, reason=error.message)
        log.append(EventType.FLOW_PROGRESS, *waits, dataset="shop.orders", level=Level.WARN, error=error)
        client = client_of(storage)
        for path in ("/", "/datasets/shop.orders"):
            page = client.get(path).text
            assert '<span class="badge retrying">Retrying</span>' in page
            assert "KAFKA_UNREACHABLE" in page
            assert "<dt>Next try</dt>" in page
            assert "2026-11-20 09:01:00 UTC" in page


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("silver_orders", "shop.silver_orders"), ("shop.silver_order", "shop.silver_orders"), ("../../etc/passwd", None)],
)
def test_unknown_dataset_is_not_found_and_says_what_was_meant(
    recorded: TestClient, asked: str, meant: str | None
) -> None:
    answer = recorded.get(f"/datasets/{asked.replace('/', '%2F')}")
    assert answer.status_code == 404
    links = re.findall(r'href="(/datasets/[^"]+)"', answer.text)
    assert links == ([f"/datasets/{meant}"] if meant else [])


@pytest.mark.parametrize(
    ("query", "rows"),
    [("level=errors", 2), ("level=errors&dataset=shop.hourly_revenue", 1), ("level=warnings", 3),
     ("level=batches&dataset=shop.silver_orders", 12), ("level=nonsense&dataset=shop.paid_orders", 2),
     ("dataset=shop.unknown", 0)],
)  # fmt: skip
def test_event_filters(recorded: TestClient, query: str, rows: int) -> None:
    assert recorded.get(f"/events?{query}").text.count('<td class="message">') == rows


def test_series_are_incremental(recorded: TestClient) -> None:
    whole = recorded.get("/series?dataset=shop.silver_orders").json()
    assert [len(flow["timestamps"]) for flow in whole["flows"]] == [12]
    rest = recorded.get(
        "/series", params={"dataset": "shop.silver_orders", "after": whole["last"], "epoch": whole["epoch"]}
    ).json()
    assert rest["flows"][0]["timestamps"] == []
    assert rest["last"] == whole["last"]
    other_log = recorded.get("/series", params={"dataset": "shop.silver_orders", "after": whole["last"], "epoch": "9"})
    assert len(other_log.json()["flows"][0]["timestamps"]) == 12
    assert recorded.get("/series?dataset=nope").status_code == 404


def test_empty_storage_says_what_to_type(storage: str) -> None:
    client = client_of(storage)
    for path in ("/", "/events", "/datasets/shop.x"):
        assert "penstock run" in client.get(path).text
    assert not Path(storage).exists()


@pytest.mark.usefixtures("live")
def test_the_log_may_grow_vanish_and_begin_anew(storage: str) -> None:
    client = client_of(storage)
    assert "No update yet" in client.get("/").text
    recorded_orders(storage)
    assert "Completed" in client.get("/").text
    shutil.rmtree(storage)
    assert "No update yet" in client.get("/").text
    first_update(storage)
    assert "EXPECTATION_FAILED" in client.get("/").text


@pytest.mark.usefixtures("live")
def test_every_prefix_of_a_log_makes_pages(tmp_path: Path) -> None:
    whole = b"".join(path.read_bytes() for path in sorted((RECORDED / "events").iterdir()))
    events = tmp_path / "events"
    events.mkdir()
    segment = events / "000001-0001.jsonl"
    client = client_of(str(tmp_path))
    for size in range(0, len(whole), len(whole) // 15):
        segment.write_bytes(whole[:size])
        for path in ("/", "/events", "/datasets/shop.silver_orders"):
            assert client.get(path).status_code in {200, 404}


@pytest.mark.usefixtures("live")
def test_lines_of_another_version_are_counted_not_fatal(storage: str) -> None:
    recorded_orders(storage)
    segment = min((Path(storage) / "events").iterdir())
    line = segment.read_text().splitlines()[0]
    odd = [
        line.replace("user_action", "accounting"),
        "not json",
        '{"id": 1}',
        line.replace('\\"arguments\\":{}', '\\"arguments\\":[1]'),
    ]
    shapes = ("dataset_definition", "flow_definition", "flow_progress", "update_progress", "create_update")
    wrong = ("[]", "7", "null", '{\\"dataset\\":7,\\"metrics\\":7,\\"expectations\\":[7],\\"sources\\":7}')
    before, _, rest = line.partition('"details":"')
    after = rest[re.search(r'(?<!\\)"', rest).end() :]  # type: ignore[union-attr]
    odd.extend(
        f'{before}"details":"{{\\"{shape}\\":{details}}}"{after}'.replace(
            '"event_type":"user_action"', f'"event_type":"{shape}"'
        ).replace('"dataset_name":null', '"dataset_name":"shop.odd"')
        for shape in shapes
        for details in wrong
    )
    with segment.open("a") as file:
        file.write("\n".join(odd) + "\n")
    client = client_of(storage)
    for path in ("/", "/events?level=all", "/datasets/shop.silver_orders", "/series?dataset=shop.silver_orders"):
        assert client.get(path).status_code == 200
    assert "could not be read by this version" in client.get("/").text


@pytest.mark.usefixtures("live")
def test_a_storage_that_cannot_be_read_is_a_fact_and_passes(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded_orders(storage)
    client = client_of(storage)
    client.get("/")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as context:
        context.setattr("penstock.dashboard.log.live_log.is_locked", refuse)
        page = client.get("/").text
        assert "Permission denied" in page
        assert "shop.silver_orders" in page
    page = client.get("/").text
    assert "Permission denied" not in page
    assert len(client.get("/series?dataset=shop.silver_orders").json()["flows"][0]["timestamps"]) == 12


def test_half_a_character_in_a_name_breaks_no_page(storage: str) -> None:
    recorded_orders(storage)
    for segment in (Path(storage) / "events").iterdir():
        segment.write_text(segment.read_text().replace("shop.silver_orders", "shop.\\\\ud800_orders"))
    client = client_of(storage)
    for path in ("/", "/events?level=all", "/datasets/shop.bronze_orders"):
        assert client.get(path).status_code == 200


def test_nothing_is_read_twice_within_a_moment(storage: str) -> None:
    log = LiveLog(storage)
    first = log.snapshot()
    assert log.snapshot() is first


def test_columns_lead_to_where_they_come_from(recorded: TestClient) -> None:
    def columns(name: str) -> dict[str, list[str]]:
        page = recorded.get(f"/datasets/{name}").text
        table = page[page.index('id="schema-card"') : page.index('id="events-card"')]
        assert table.count('scope="col"') == len(re.findall(r"<th scope=\"col\"", table))
        rows = re.findall(r'<th scope="row">(\w+).*?</th>(.*?)</tr>', table, re.DOTALL)
        cells = {column: re.findall(r"<td>(.*?)</td>", cells, re.DOTALL) for column, cells in rows}
        return {
            column: [re.sub(r"<(?!a )[^>]*>", "", cell).strip() for cell in found] for column, found in cells.items()
        }

    link = '<a href="/datasets/shop.{0}">shop.{0} {1}'
    assert columns("shop.silver_orders")["amount"] == [
        "double",
        link.format("bronze_orders", "amount"),
        link.format("hourly_revenue", "amount (aggregated)"),
    ]
    assert columns("shop.bronze_orders")["order_time"][1] == "cloudFiles ./data/orders order_time (computed)"
    report = columns("shop.revenue_report")
    assert report["amount"] == ["double", "not resolved"]
    assert report["order_id"] == ["bigint", link.format("hourly_revenue", "order_id")]
    page = recorded.get("/datasets/shop.silver_orders").text
    assert "Which rows there are depends on" in page
    assert "Which columns decide on the rows is not resolved" in recorded.get("/datasets/shop.revenue_report").text
    view = recorded.get("/datasets/shop.paid_orders").text
    assert "Made of" not in view, "the log does not tell"
