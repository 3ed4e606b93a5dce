from __future__ import annotations

import hashlib
import re
import socket
from collections.abc import Iterator
from datetime import timedelta
from importlib import resources
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient
from tests.recorded.build import FIRST_UPDATE, RECORDED, START, SteppedClock, recorded_orders
from tests.unit.dashboard.conftest import client_of

from penstock.config.values.authority import is_loopback
from penstock.dashboard import table_reader
from penstock.dashboard.serving.background import Dashboard, start_in_background
from penstock.errors import DataError
from penstock.events import EventLog, EventType, FlowStatus
from penstock.events import builders as say
from penstock.graph.schema.column_lineage import ColumnLineage, InputColumn, OutputColumn, Transformation

PATHS = ("/", "/events", "/datasets/shop.silver_orders", "/datasets/nope", "/nope",
         "/series?dataset=shop.silver_orders", "/problems", "/updates", "/compare", "/checks", "/cost",
         "/flows/shop.silver_orders", "/stored/late/shop.silver_orders", "/series.csv?dataset=shop.silver_orders",
         "/events.csv", "/static/penstock.css", "/static/live.js",
         "/static/lineage.css")  # fmt: skip
PAGES = ("/", "/events", "/datasets/shop.silver_orders", "/flows/shop.hourly_revenue", "/problems", "/updates",
         f"/updates/{FIRST_UPDATE}", "/compare", "/checks", "/cost")  # fmt: skip
HOSTILE = "shop.<script>alert('x')</script>\"&{{7*7}}</title>"


@pytest.fixture(scope="module")
def running() -> Iterator[Dashboard]:
    served = start_in_background(str(RECORDED), port=0)
    yield served
    served.stop()


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_carries_the_headers(recorded: TestClient, path: str) -> None:
    headers = recorded.get(path).headers
    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert "server" not in headers
    assert headers["cache-control"] == ("no-cache" if path.startswith("/static/") else "no-store")


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8420", "127.0.0.1.evil.example", "0.0.0.0", "10.0.0.7", "", " ", ".", ":8420",
     "[::1]evil.example", "[::1].evil.example", "[::1]:8420.evil.example", "[::1", "::1", "[::1]]", "[::1%lo]",
     "[::1%25lo]", "[127.0.0.1]", "[localhost]", "127.0.0.1:abc", "127.0.0.1:", "localhost:",
     "localhost:0", "localhost:65536", "localhost:80:80", "localhost:-1", "localhost:+80", "user@localhost",
     "localhost@evil.example",
     "localhost/evil.example", "localhost#evil.example", "localhost..", "127.0.0.1, evil.example",
     "http://localhost", "127.0.0.1\\evil.example",
     "loc%61lhost", "127.0.0.01", "0x7f.0.0.1", "2130706433"],
)  # fmt: skip
def test_a_foreign_host_header_is_refused(recorded: TestClient, host: str) -> None:
    answer = recorded.get("/", headers={"Host": host})
    assert answer.status_code == 421
    assert "shop" not in answer.text
    assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9000", "LOCALHOST", "[::1]:8420", "127.0.0.2", "localhost.",
                                  "localhost.:80", "[0:0:0:0:0:0:0:1]"])  # fmt: skip
def test_names_of_this_machine_are_served(recorded: TestClient, host: str) -> None:
    assert recorded.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    ("request_line", "hosts", "status"),
    [
        ("GET /problems HTTP/1.1", ("127.0.0.1",), 200),
        ("GET /problems HTTP/1.1", ("127.0.0.1", "127.0.0.1"), 4),
        ("GET /problems HTTP/1.1", ("127.0.0.1", "evil.example"), 4),
        ("GET /problems HTTP/1.1", (), 4),
        ("GET /problems HTTP/1.0", (), 4),
        ("GET /problems HTTP/1.1", ("[::1]evil.example",), 421),
        ("GET http://evil.example/problems HTTP/1.1", ("127.0.0.1",), 4),
        ("GET http://evil.example/problems HTTP/1.1", ("evil.example",), 421),
        ("GET http://127.0.0.1/problems HTTP/1.1", ("127.0.0.1",), 4),
    ],
)
def test_a_real_server_answers_only_to_one_good_name(
    running: Dashboard, request_line: str, hosts: tuple[str, ...], status: int
) -> None:
    with socket.create_connection(("127.0.0.1", urlsplit(running.url).port or 0), timeout=10) as connection:
        lines = [request_line, *(f"Host: {host}" for host in hosts), "Connection: close"]
        connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b"")).decode("utf-8", "replace")
    told = int(answer.split(" ", 2)[1])
    assert told == status or told // 100 == status
    assert ("shop" in answer) is (status == 200)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_only_reading(recorded: TestClient, method: str) -> None:
    assert recorded.request(method, "/").status_code == 405


@pytest.mark.parametrize(
    "path",
    ["/static/../security.py", "/updates/..%2f..%2fetc%2fpasswd", "/flows/..%2f..%2fetc%2fpasswd",
     "/stored/table/..%2f..%2fetc%2fpasswd", "/static/%2e%2e/security.py", "/static/..%2fsecurity.py",
     "/static//etc/passwd",
     "/static/vendor/../../security.py", "/datasets/..%2f..%2fetc%2fpasswd"],
)  # fmt: skip
def test_no_path_leaves_its_folder(recorded: TestClient, path: str) -> None:
    answer = recorded.get(path)
    assert answer.status_code == 404
    assert "def " not in answer.text
    assert "root:" not in answer.text


@pytest.mark.parametrize("name", ["../../outside", "..", "%2e%2e/x", "a/../../../outside", "/etc", "\\..\\x"])
def test_a_name_of_a_dataset_leads_to_no_folder_outside(tmp_path: Path, name: str) -> None:
    """What the rows of a dataset are read from, when its log gives it such a name."""
    storage = tmp_path / "storage"
    place = table_reader._place({"storage": str(storage), "name": f"shop.{name}"})
    assert Path(place.uri).resolve().is_relative_to(storage.resolve() / "tables" / "shop")
    assert Path(place.uri).resolve() != storage.resolve() / "tables" / "shop"


def test_reading_changes_nothing(storage: str) -> None:
    recorded_orders(storage)

    def files() -> dict[str, tuple[int, bytes]]:
        found = [path for path in Path(storage).rglob("*") if path.is_file()]
        return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in found}

    before, client = files(), client_of(storage)
    for path in (*PATHS, *PAGES, "/stored/table/shop.silver_orders", "/checks/findings", "/actions/stop", "/login"):
        for method in ("GET", "HEAD"):
            client.request(method, path)
    assert files() == before


@pytest.fixture
def hostile(storage: str) -> TestClient:
    """A log in which every text that others choose is an attack."""
    clock = SteppedClock(START)
    inputs = tuple(InputColumn(name, HOSTILE, (Transformation.AGGREGATION,)) for name in (HOSTILE, f"kafka {HOSTILE}"))
    with EventLog.open(storage, pipeline_name=HOSTILE, update_id=HOSTILE, clock=clock, host=HOSTILE) as log:
        log.append(EventType.CREATE_UPDATE, *say.create_update(pipeline=HOSTILE, cause=HOSTILE, version=HOSTILE))
        log.append(
            EventType.DATASET_DEFINITION,
            *say.dataset_definition(
                HOSTILE,
                dataset_type="STREAMING_TABLE",
                schema=((HOSTILE, HOSTILE, HOSTILE),),
                comment=HOSTILE,
                expectations=((HOSTILE, HOSTILE, HOSTILE),),
                location=HOSTILE,
            ),
            dataset=HOSTILE,
        )
        log.append(
            EventType.FLOW_DEFINITION,
            *say.flow_definition(
                HOSTILE,
                output_dataset=HOSTILE,
                flow_type=HOSTILE,
                sources=((HOSTILE, HOSTILE, HOSTILE),),
                lineage=ColumnLineage((OutputColumn(HOSTILE, inputs),), inputs, rows_resolved=False),
            ),
            dataset=HOSTILE,
            flow=HOSTILE,
        )
        clock.moment += timedelta(seconds=1)
        log.append(
            EventType.FLOW_PROGRESS,
            HOSTILE,
            {
                "flow_progress": {
                    "status": FlowStatus.FAILED.value,
                    "metrics": {"batch_id": 1, "num_input_rows": 1, "num_output_rows": 1, "watermark": HOSTILE},
                }
            },
            dataset=HOSTILE,
            flow=HOSTILE,
            error=DataError("EXPECTATION_FAILED", name=HOSTILE, expectations=HOSTILE, row=HOSTILE, origin=""),
        )
    return client_of(storage)


@pytest.mark.parametrize(
    "kind",
    [
        "overview",
        "dataset",
        "events",
        "filtered",
        "unknown",
        "series",
        "flow",
        "problems",
        "updates",
        "update",
        "compare",
    ],
)
def test_every_text_of_others_is_escaped(hostile: TestClient, kind: str) -> None:
    quoted = "shop.%3Cscript%3Ealert%28%27x%27%29%3C%2Fscript%3E%22%26%7B%7B7%2A7%7D%7D%3C%2Ftitle%3E"
    path = {
        "overview": "/",
        "dataset": f"/datasets/{quoted}",
        "events": "/events?level=all",
        "filtered": f"/events?dataset={quoted}x",
        "unknown": f"/datasets/{quoted}%3Cimg%20src=x%20onerror=alert(1)%3E",
        "series": f"/series?dataset={quoted}",
        "flow": f"/flows/{quoted}?flow={quoted}",
        "problems": "/problems",
        "updates": "/updates",
        "update": f"/updates/{quoted}",
        "compare": "/compare",
    }[kind]
    answer = hostile.get(path)
    assert answer.status_code == (404 if kind == "unknown" else 200)
    assert "alert(" in answer.text or "alert%28" in answer.text
    assert "<script>" not in answer.text
    assert "<img src=x" not in answer.text
    assert "49" not in re.findall(r"&(\d+)&", answer.text)
    assert not re.search(r"<[a-z][^>]*\son[a-z]+=", answer.text)


def test_pages_hold_no_inline_script_or_style(recorded: TestClient) -> None:
    for path in PAGES:
        page = recorded.get(path).text
        assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", page))
        assert "<style" not in page
        assert not re.search(r"\sstyle=", page)
        assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost", "localhost."])
def test_loopback_is_known_without_asking_a_resolver(host: str) -> None:
    assert is_loopback(host)


def test_vendored_files_are_those_that_were_reviewed() -> None:
    folder = Path(str(resources.files("penstock.dashboard") / "static" / "vendor"))
    told = dict(re.findall(r"^\| (\S+) \|.*\| ([0-9a-f]{64}) \|$", (folder / "VENDORED.md").read_text(), re.MULTILINE))
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
    del found["VENDORED.md"]
    assert told == found
