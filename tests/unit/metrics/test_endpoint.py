"""The endpoint of a run: who gets its metrics, and what a probe learns."""

from __future__ import annotations

import socket
import socketserver
import ssl
import struct
import threading
import time
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import pytest
from tests.processes import wait_until
from tests.unit.alerts.receivers import certificate
from tests.unit.metrics.runs import CANARY, asking, batch, secret, served, values_of

from penstock.access import bounded_http
from penstock.access.bounded_http import BoundedServer
from penstock.errors import ConfigError
from penstock.events import EventLog, EventType, UpdateState, builders


def test_prometheus_reads_a_run(log: EventLog) -> None:
    urls: list[str] = []
    with log, served(log, urls):
        batch(log)
        rows = "penstock_flow_input_rows_total"
        wait_until(lambda: rows in asking(urls[0])[1], timeout=5, what="the batch")
        status, text = asking(urls[0])
        assert status == 200
        assert list(values_of(text)[rows].values()) == [7]
        assert asking(urls[0].replace("/metrics", "/other"))[0] == 404
        for host in ("attacker.example:80", "[::1]attacker.example", "127.0.0.1:abc", "localhost:", ""):
            status, text = asking(urls[0], Host=host)
            assert (status, "penstock_" in text) == (421, False)
        assert "application/openmetrics-text" not in text
    with pytest.raises(OSError, match="refused"):
        asking(urls[0])


def test_other_machines_need_a_certificate_and_a_token(log: EventLog, tmp_path: Path) -> None:
    pem = certificate(tmp_path)
    for settings in ({}, {"token": secret(CANARY)}, {"certificate": pem}):
        with log, pytest.raises(ConfigError) as refused, served(log, [], address="0.0.0.0", **settings):
            pass
        assert refused.value.condition == "METRICS_ADDRESS_REFUSED"
    urls: list[str] = []
    trusted = ssl.create_default_context(cafile=pem)
    with served(log, urls, address="0.0.0.0", certificate=pem, token=secret(CANARY)):
        assert asking(urls[0], trusted)[0] == 401
        assert asking(urls[0], trusted, Authorization="Bearer wrong")[0] == 401
        assert asking(urls[0], trusted, Authorization=f"Bearer {CANARY}")[0] == 200


def test_probes_say_whether_a_run_is_alive_and_ready(log: EventLog, tmp_path: Path) -> None:
    pem, urls = certificate(tmp_path), list[str]()
    trusted = ssl.create_default_context(cafile=pem)
    with log, served(log, urls, certificate=pem, token=secret(CANARY)):

        def probed(path: str) -> tuple[int, str]:
            return asking(urls[0].replace("/metrics", path), trusted)

        assert probed("/livez") == (200, "ok\n")
        assert probed("/readyz")[0] == 503
        log.append(EventType.UPDATE_PROGRESS, *builders.update_progress(UpdateState.RUNNING, pipeline="orders"))
        wait_until(lambda: probed("/readyz") == (200, "ok\n"), timeout=5, what="the run to be ready")
        log.append(EventType.UPDATE_PROGRESS, *builders.update_progress(UpdateState.STOPPING, pipeline="orders"))
        wait_until(lambda: probed("/readyz")[0] == 503, timeout=5, what="the run to stop")
        assert probed("/livez") == (200, "ok\n")
        assert probed("/metrics")[0] == 401


@pytest.mark.parametrize("secured", [False, True], ids=["http", "https"])
def test_silent_and_slow_readers_are_disconnected_and_their_number_is_limited(
    log: EventLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, secured: bool
) -> None:
    monkeypatch.setattr(bounded_http, "_TIMEOUT_SECONDS", 1.0)
    pem = certificate(tmp_path) if secured else None
    trusted = ssl.create_default_context(cafile=pem) if secured else None
    urls: list[str] = []
    with log, served(log, urls, certificate=pem), ExitStack() as opened:
        before = threading.active_count()
        address = "127.0.0.1", int(urls[0].rpartition(":")[2].partition("/")[0])
        silent = [opened.enter_context(socket.create_connection(address, timeout=5)) for _ in range(100)]
        until = time.monotonic() + 5
        with suppress(ConnectionError):
            while time.monotonic() < until:
                silent[0].sendall(b"G")
                assert threading.active_count() - before <= 64
                time.sleep(0.1)
        assert time.monotonic() < until, "a byte now and then does not keep it open"
        wait_until(lambda: threading.active_count() <= before, timeout=5, what="the threads to end")
        assert asking(urls[0], trusted)[0] == 200


def test_a_new_connection_from_the_port_of_an_old_one_is_limited_too() -> None:
    ends = [threading.Event(), threading.Event()]
    waiting = iter(ends)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            next(waiting).wait(10)

    server = BoundedServer(("127.0.0.1", 0), Handler, None)
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    try:
        own = 0
        for number in range(1, 3):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # reset: the port is free
            client.bind(("127.0.0.1", own))
            own = client.getsockname()[1]
            client.connect(server.server_address)
            wait_until(partial(_has_open, server, number), timeout=5, what="the connection")
            client.close()
        ends[0].set()
        wait_until(partial(_has_open, server, 1), timeout=5, what="the first one to be forgotten, and no other")
    finally:
        for end in ends:
            end.set()
        server.shutdown()
        serving.join(10)
        server.server_close()


def _has_open(server: BoundedServer, connections: int) -> bool:
    return len(server._open) == connections


def test_a_port_that_is_taken_and_a_certificate_that_is_none(log: EventLog, tmp_path: Path) -> None:
    urls: list[str] = []
    with log, served(log, urls):
        port = int(urls[0].rpartition(":")[2].partition("/")[0])
        with pytest.raises(ConfigError) as taken, served(log, [], port=port):
            pass
    assert taken.value.condition == "METRICS_PORT_TAKEN"
    (tmp_path / "no.pem").write_text("nonsense")
    with pytest.raises(ConfigError) as unreadable, served(log, [], certificate=tmp_path / "no.pem"):
        pass
    assert unreadable.value.condition == "METRICS_CERTIFICATE_UNREADABLE"
