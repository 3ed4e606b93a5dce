"""The health page of an SQL endpoint: for this machine, and for a few at once."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from contextlib import ExitStack, closing

import pytest
from tests.processes import wait_until

from penstock.access import bounded_http
from penstock.errors import ConfigError
from penstock.runtime.serving.health import HealthPage


def _answer(url: str, host: str | None = None) -> tuple[int, bytes]:
    request = urllib.request.Request(url, headers={} if host is None else {"Host": host})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_it_tells_this_machine_and_no_web_page() -> None:
    with closing(HealthPage(0, lambda: {"status": "up"})) as page:
        status, body = _answer(page.url)
        assert (status, json.loads(body)) == (200, {"status": "up"})
        assert _answer(page.url.replace("/health", "/"))[0] == 404
        assert _answer(page.url, "attacker.example")[0] == 403


def test_many_silent_readers_do_not_keep_others_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_http, "_TIMEOUT_SECONDS", 0.5)
    with closing(HealthPage(0, dict)) as page, ExitStack() as opened:
        address = "127.0.0.1", int(page.url.split(":")[2].partition("/")[0])
        for _ in range(100):
            opened.enter_context(socket.create_connection(address, timeout=5))

        def answers() -> bool:
            try:
                return _answer(page.url)[0] == 200
            except OSError:
                return False

        wait_until(answers, timeout=5, what="an answer")


def test_a_port_that_is_taken_is_named() -> None:
    with closing(HealthPage(0, dict)) as page, pytest.raises(ConfigError) as taken:
        HealthPage(int(page.url.split(":")[2].partition("/")[0]), dict)
    assert taken.value.condition == "SERVE_PORT_TAKEN"
