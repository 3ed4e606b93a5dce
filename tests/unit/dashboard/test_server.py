from __future__ import annotations

import http.client
import signal
import socket
import subprocess
import sys
import time
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from tests.processes import wait_until
from tests.recorded.build import RECORDED, first_update

from penstock.dashboard.serving.background import Dashboard, start_in_background
from penstock.errors import ConfigError


def _live(running: Dashboard) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection(urlsplit(running.url).netloc, timeout=5)
    connection.request("GET", "/live")
    return connection, connection.getresponse()


def _next_version(response: http.client.HTTPResponse) -> str:
    while True:
        line = response.readline().decode().strip()
        if line.startswith("data: "):
            return line.removeprefix("data: ")


def test_background_dashboard_serves_and_stops(storage: str) -> None:
    running = start_in_background(storage, port=0)
    assert httpx.get(running.url).status_code == 200
    running.stop()
    running.stop()
    with pytest.raises(httpx.TransportError):
        httpx.get(running.url)


def test_the_stream_tells_of_changes_and_ends_when_the_dashboard_stops(storage: str) -> None:
    running = start_in_background(storage, port=0)
    connection, response = _live(running)
    before = _next_version(response)
    started = time.monotonic()
    first_update(storage)
    assert _next_version(response) != before
    assert time.monotonic() - started < 10
    running.stop()
    assert time.monotonic() - started < 10
    connection.close()


def test_a_taken_port_is_passed_over_unless_it_was_asked_for(storage: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
        with pytest.raises(ConfigError) as caught:
            start_in_background(storage, port=port)
    assert caught.value.condition == "DASHBOARD_PORT_TAKEN"
    assert caught.value.facts["port"] == str(port)
    first, second = start_in_background(storage), start_in_background(storage)
    try:
        assert urlsplit(first.url).port != urlsplit(second.url).port
    finally:
        first.stop()
        second.stop()


def test_refuses_to_leave_this_machine(storage: str) -> None:
    with pytest.raises(ConfigError) as caught:
        start_in_background(storage, host="0.0.0.0", port=0)
    assert caught.value.condition == "DASHBOARD_NOT_LOOPBACK"


def test_a_dashboard_in_the_background_lasts_as_its_run_and_no_longer(storage: str) -> None:
    program = (
        "import sys, time\n"
        "from penstock.dashboard.serving.background import start_in_background\n"
        "running = start_in_background(sys.argv[1], port=0)\n"
        "assert 'uvicorn' not in sys.modules, 'the run starts without it'\n"
        "print(running.url, running.process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, storage], stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        url, pid = run.stdout.readline().split()
        dashboard = psutil.Process(int(pid))
        assert httpx.get(url, timeout=30).status_code == 200
        for number in (signal.SIGINT, signal.SIGTERM):
            dashboard.send_signal(number)
        assert httpx.get(url).status_code == 200, "it shows how a run stops that a whole service was asked to"
        run.kill()
    wait_until(
        lambda: not dashboard.is_running() or dashboard.status() == psutil.STATUS_ZOMBIE,
        timeout=5,
        what="the dashboard to end with its run",
    )


def test_serves_in_the_foreground_without_spark_until_interrupted() -> None:
    program = (
        "import sys\n"
        "from penstock.dashboard.server import serve\n"
        "serve(sys.argv[1], port=0, on_ready=lambda url: print(url, flush=True))\n"
        "assert not {'pyspark', 'py4j', 'delta'} & set(sys.modules)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program, str(RECORDED)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        url = process.stdout.readline().strip()
        assert "shop.silver_orders" in httpx.get(url).text
        process.terminate()
        assert process.wait(10) in {0, -15}
