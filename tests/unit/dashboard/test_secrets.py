"""A canary: what must not be told is in no page, header, file or message of the dashboard."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from tests.recorded.build import FIRST_UPDATE, recorded_orders
from tests.unit.dashboard.conftest import client_of

from penstock.dashboard.serving.access import Access, access_for
from penstock.errors import ConfigError
from penstock.events import EventLog, EventType
from penstock.events import builders as say

CANARY = "canary-7f3a9c51-do-not-tell"
PATHS = ("/", "/datasets/shop.silver_orders", "/datasets/shop.out", "/flows/shop.silver_orders", "/problems",
         "/updates", f"/updates/{FIRST_UPDATE}", "/compare", "/events?level=all", "/events.csv?level=all", "/checks",
         "/checks/findings", "/stored/table/shop.silver_orders", "/series?dataset=shop.silver_orders", "/nope",
         "/cost?price=x", "/static/live.js", f"/datasets/{'x' * 3000}")  # fmt: skip


def test_the_token_is_nowhere(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded_orders(storage)
    monkeypatch.setenv("PENSTOCK_UI_TOKEN", CANARY)
    access = access_for("127.0.0.1", run_command=["penstock", "run"])
    client = client_of(storage, access)
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        for path in PATHS:
            for headers in ({"Authorization": f"Bearer {CANARY}"}, {"Authorization": f"Bearer {CANARY}x"}):
                answer = client.get(path, headers=headers)
                assert CANARY not in answer.text
                assert CANARY not in str(answer.headers)
        wrong = client.post("/login", data={"token": CANARY + "x"}, headers={"Origin": "http://127.0.0.1:8420"})
        assert CANARY not in wrong.text
        right = client.post(
            "/login", data={"token": CANARY}, headers={"Origin": "http://127.0.0.1:8420"}, follow_redirects=False
        )
        assert CANARY not in str(right.headers)
    assert CANARY not in said.getvalue()
    written = [path for path in Path(storage).rglob("*") if path.is_file() and CANARY in path.read_text("latin-1")]
    assert written == []


def test_values_of_a_sinks_options_are_nowhere(storage: str) -> None:
    recorded_orders(storage)
    with EventLog.open(storage, pipeline_name="orders", update_id="third") as log:
        started = say.create_update(pipeline="orders", cause="USER_ACTION", version="1")
        log.append(EventType.CREATE_UPDATE, *started)
        options = {"kafka.sasl.jaas.config": CANARY, "password": CANARY, "topic": "orders"}
        defined = say.sink_definition("shop.out", sink_format="kafka", options=options)
        log.append(EventType.SINK_DEFINITION, *defined, dataset="shop.out")
    client = client_of(storage)
    assert "shop.out" in client.get("/").text
    for path in PATHS:
        assert CANARY not in client.get(path).text


def test_a_page_that_cannot_be_made_tells_nothing(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> bytes:
        raise RuntimeError(CANARY)

    monkeypatch.setattr("penstock.dashboard.site.render", fail)
    from starlette.testclient import TestClient

    client = TestClient(client_of(storage).app, base_url="http://127.0.0.1:8420", raise_server_exceptions=False)
    answer = client.get("/")
    assert answer.status_code == 500
    assert CANARY not in answer.text
    assert "Traceback" not in answer.text
    assert answer.headers["x-frame-options"] == "DENY"


def test_a_token_file_that_cannot_be_used_is_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"\xff" + CANARY.encode())
    with pytest.raises(ConfigError) as caught:
        access_for("127.0.0.1", token_file=str(tmp_path / "token"))
    assert CANARY not in str(caught.value.to_json())


def test_it_is_in_no_representation() -> None:
    assert CANARY not in repr(Access(token=CANARY))


def test_the_reader_of_tables_gets_no_token(monkeypatch: pytest.MonkeyPatch, storage: str) -> None:
    monkeypatch.setenv("PENSTOCK_UI_TOKEN", CANARY)
    seen: list[dict[str, str]] = []
    run = subprocess.run

    def watched(command: list[str], **options: object) -> object:
        seen.append(dict(options.get("env") or {}))  # type: ignore[call-overload]
        return run([sys.executable, "-c", "print('x')"], capture_output=True, check=True)

    monkeypatch.setattr("penstock.dashboard.stored_tables.subprocess.run", watched)
    recorded_orders(storage)
    client_of(storage).get("/stored/table/shop.silver_orders")
    assert seen
    assert all(each and CANARY not in str(each) for each in seen)
