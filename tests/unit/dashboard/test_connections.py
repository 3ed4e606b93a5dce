"""What clients can do to the dashboard: they wait, trickle, do not read, and are too many; others still get a page."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from tests.certificates import Authority

from penstock.dashboard.log.live_log import LiveLog
from penstock.dashboard.server import DashboardServer
from penstock.dashboard.serving import connections
from penstock.dashboard.serving.access import Access
from penstock.dashboard.serving.connections import Limits
from penstock.dashboard.serving.listener import listen

SECONDS = 1.0
TOKEN = "a-token-of-the-dashboard"
PAGE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
LIVE = b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n"

Connect = Callable[[], socket.socket]


@contextmanager
def served(storage: str, access: Access | None = None, *, most: int = 8) -> Iterator[Connect]:
    """Serves with room for `most` connections, each of which may wait a second; gives what connects."""
    listener, ready = listen("127.0.0.1", 0), threading.Event()
    server = DashboardServer(LiveLog(storage), access or Access(), Limits(most, SECONDS), on_ready=ready.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    assert ready.wait(10)
    address = listener.getsockname()
    with ExitStack() as opened:
        yield lambda: opened.enter_context(socket.create_connection(address, timeout=10))
    server.should_exit = True
    thread.join(10)


def is_closed(connection: socket.socket) -> bool:
    try:
        while connection.recv(65536):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


def answer(connection: socket.socket, request: bytes = PAGE) -> bytes:
    connection.sendall(request)
    return connection.recv(12).removeprefix(b"HTTP/1.1 ")


def trickle(connection: socket.socket, seconds: float) -> float:
    """Sends a byte every tenth of a second; returns after how long that failed."""
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        try:
            connection.sendall(b"x")
        except ConnectionError:
            break
        time.sleep(0.1)
    return time.monotonic() - began


def test_a_client_that_does_not_send_its_request_is_disconnected(storage: str, tmp_path: Path) -> None:
    keys = str(Authority(tmp_path).sign("localhost", "DNS:localhost"))
    login = b"POST /login HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nContent-Length: 4000\r\n\r\n"
    with served(storage, Access(token=TOKEN)) as connect:
        began = time.monotonic()
        assert is_closed(connect()), "silent"
        assert SECONDS <= time.monotonic() - began < 4 * SECONDS
        header, body, next_header = connect(), connect(), connect()
        header.sendall(b"GET / HTTP/1.1\r\nX-Long: ")
        body.sendall(login)
        assert answer(next_header) == b"303"
        assert trickle(header, 5 * SECONDS) < 4 * SECONDS
        assert is_closed(body)
        assert is_closed(next_header)
    with served(storage, Access(certificate=keys, key=keys)) as connect:
        assert is_closed(connect()), "no handshake"


def test_a_client_that_does_not_read_its_answers_is_disconnected(storage: str) -> None:
    with served(storage) as connect:
        lazy = connect()
        lazy.settimeout(4 * SECONDS)
        request = b"GET /static/lineage.css HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with pytest.raises((ConnectionError, TimeoutError)):
            lazy.sendall(request * 100_000)
        time.sleep(2 * SECONDS)
        lazy.settimeout(1)
        assert is_closed(lazy)


def test_an_open_page_stays_connected_while_silent_clients_come_and_go(storage: str) -> None:
    with served(storage) as connect:
        page = connect()
        assert answer(page, LIVE) == b"200"
        silent = [connect() for _ in range(40)]
        assert answer(connect()) == b"200"
        assert all(is_closed(each) for each in silent)
        page.settimeout(2 * SECONDS)
        assert not is_closed(page)


def test_pages_are_left_room_beside_the_streams_and_more_streams_are_answered_503(storage: str) -> None:
    with served(storage) as connect:
        streams = [connect() for _ in range(8)]
        assert [answer(each, LIVE) for each in streams] == [b"200"] * 6 + [b"503"] * 2
        assert answer(connect()) == b"200"
    with served(storage, most=1) as connect:
        assert answer(connect(), LIVE) == b"200"
        assert is_closed(connect()), "no connection waits that could make room"


def test_one_address_does_not_take_all_connections(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_is_loopback", lambda _network: False)
    with served(storage) as connect:
        streams = [connect() for _ in range(2)]
        assert [answer(each, LIVE) for each in streams] == [b"200"] * 2
        assert is_closed(connect())
    same = {connections._network(each) for each in ("2001:db8::1", "2001:db8::2:3%eth0")}
    assert len(same) == 1
    assert connections._network("2001:db8:0:1::1") not in same
    assert connections._network("::ffff:10.0.0.7") == connections._network("10.0.0.7") == "10.0.0.7"


def test_a_flood_of_connections_leaves_descriptors_to_the_server_and_its_log_empty(storage: str) -> None:
    program = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))\n"
        "from penstock.dashboard.server import serve\n"
        "serve(sys.argv[1], port=0, on_ready=lambda url: print(url, flush=True))\n"
    )
    command = [sys.executable, "-c", program, storage]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server,
        ExitStack() as opened,
    ):
        assert server.stdout is not None
        url = httpx.URL(server.stdout.readline().strip())
        for _ in range(300):
            opened.enter_context(socket.create_connection((url.host, url.port or 0), timeout=10))
        assert httpx.get(url).status_code == 200
        server.terminate()
        _, stderr = server.communicate(timeout=10)
    assert stderr == ""


def test_limits_follow_the_limit_of_open_files() -> None:
    assert Limits(512).streams == 384
    assert Limits(512).per_address == 128
    assert Limits.of_this_process().connections <= 512
