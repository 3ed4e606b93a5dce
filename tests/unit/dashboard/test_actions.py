"""Stopping and starting runs from a page: only when allowed, only with a token, from the own pages, and noted."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.recorded.build import recorded_orders
from tests.unit.dashboard.conftest import client_of

from penstock.dashboard.serving.access import Access, access_for
from penstock.errors import ConfigError
from penstock.events import EventType, read_events
from penstock.events.flows.facts import details_of
from penstock.storage import LockOwner, StorageLock

TOKEN = "a-token-of-enough-characters"
URL = "http://127.0.0.1:8420"
_HEADERS = {"Authorization": f"Bearer {TOKEN}", "Origin": URL}
_RUN = """
import signal, sys, threading
from penstock.storage import LockOwner, StorageLock
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
with StorageLock(sys.argv[1], LockOwner.current("penstock run")):
    print("locked", flush=True)
    stop.wait(30)
"""


@pytest.fixture
def acting(storage: str, tmp_path: Path) -> TestClient:
    recorded_orders(storage)
    program = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_text(repr(sys.argv[2:]))"
    command = (sys.executable, "-c", program, str(tmp_path / "started"))
    return client_of(storage, Access(token=TOKEN, run_command=command))


def post(client: TestClient, action: str, **data: str) -> int:
    headers = _HEADERS
    return client.post(f"/actions/{action}", data=data, headers=headers, follow_redirects=False).status_code


def noted(storage: str, action: str, *, within: float = 5) -> dict[str, object]:
    """Waits for the event that tells of it; returns its details."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        for event in read_events(storage, types=[EventType.USER_ACTION]):
            if details_of(event).get("action") == action:
                return dict(details_of(event))
        time.sleep(0.05)
    pytest.fail(f"{action} is not in the log")


def wait_for(file: Path) -> str:
    until = time.monotonic() + 5
    while not (file.exists() and file.read_text()) and time.monotonic() < until:
        time.sleep(0.02)
    return file.read_text()


def test_a_run_is_stopped_and_that_is_noted_once_it_ended(acting: TestClient, storage: str) -> None:
    run = subprocess.Popen([sys.executable, "-c", _RUN, storage], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    run.stdout.readline()
    assert post(acting, "stop") == 303
    assert run.wait(10) == 0
    run.stdout.close()
    told = noted(storage, "STOP")
    assert told["arguments"] == {"pid": run.pid}
    assert (told["user_name"], told["through"], told["from"]) == (None, "dashboard", "testclient")
    assert post(acting, "stop") == 409  # nothing runs any more


def test_a_run_on_another_machine_is_not_stopped(
    acting: TestClient, storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = []
    monkeypatch.setattr("os.kill", lambda *asked: killed.append(asked))
    with StorageLock(storage, LockOwner.current()):
        monkeypatch.setattr("penstock.dashboard.actions.machine", lambda: "another")
        assert post(acting, "stop") == 409
    assert killed == []


@pytest.mark.parametrize(
    ("form", "options"),
    [({}, []), ({"dataset": "shop.silver_orders"}, ["--refresh", "shop.silver_orders"]),
     ({"dataset": "SHOP.silver_orders", "full": "yes"}, ["--full-refresh", "shop.silver_orders"])],
)  # fmt: skip
def test_a_run_is_started(
    acting: TestClient, storage: str, tmp_path: Path, form: dict[str, str], options: list[str]
) -> None:
    assert post(acting, "refresh", **form) == 303
    assert wait_for(tmp_path / "started") == repr(options)
    assert noted(storage, "REFRESH")["arguments"] == {"options": options}


def test_no_second_run_is_started(acting: TestClient, storage: str, tmp_path: Path) -> None:
    with StorageLock(storage, LockOwner.current()):
        assert post(acting, "refresh") == 409
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("name", ["--full-refresh-all", "shop.nope", "; rm -rf /", "../../x"])
def test_only_datasets_of_the_pipeline_are_refreshed(acting: TestClient, tmp_path: Path, name: str) -> None:
    assert post(acting, "refresh", dataset=name) == 404
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Origin": URL}, 401), ({"Authorization": f"Bearer {TOKEN}"}, 403),
     ({**_HEADERS, "Origin": "http://evil.example"}, 403), ({**_HEADERS, "Authorization": "Bearer wrong"}, 401)],
)  # fmt: skip
def test_others_are_refused(acting: TestClient, tmp_path: Path, headers: dict[str, str], status: int) -> None:
    assert acting.post("/actions/refresh", headers=headers).status_code == status
    assert not (tmp_path / "started").exists()


def test_nothing_happens_by_get(acting: TestClient, tmp_path: Path) -> None:
    assert acting.get("/actions/refresh", headers=_HEADERS).status_code in {404, 405}
    assert not (tmp_path / "started").exists()


def test_without_being_allowed_there_are_no_actions(recorded: TestClient) -> None:
    assert recorded.post("/actions/refresh", headers={"Origin": URL}).status_code == 405
    assert "/actions/" not in recorded.get("/").text


def test_actions_need_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_UI_TOKEN", raising=False)
    with pytest.raises(ConfigError) as caught:
        access_for("127.0.0.1", run_command=["penstock", "run"])
    assert caught.value.condition == "DASHBOARD_OPTION_INVALID"
    assert caught.value.facts["option"] == "--allow-actions"
