"""A dashboard that other machines reach: only with a token, over TLS, under its own names, from its own pages."""

from __future__ import annotations

import re
import socket
import ssl
import subprocess
import time
from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import anyio.from_thread
import httpx
import pytest
from starlette.testclient import TestClient
from tests.recorded.build import RECORDED
from tests.unit.dashboard.conftest import client_of

from penstock.config.values.authority import Authority
from penstock.dashboard.application import create_application
from penstock.dashboard.log.live_log import LiveLog
from penstock.dashboard.serving import security
from penstock.dashboard.serving.access import SESSION_SECONDS, Access, access_for
from penstock.dashboard.serving.background import start_in_background
from penstock.errors import ConfigError

TOKEN = "a-token-of-enough-characters"
HOST = "penstock.example"
URL = f"https://{HOST}:8420"
PAUSE = security._WRONG_PAUSE


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("tls")
    files = str(folder / "cert.pem"), str(folder / "key.pem")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-out", files[0], "-keyout", files[1]],
        check=True, capture_output=True,
    )  # fmt: skip
    return files


@pytest.fixture
def token_file(tmp_path: Path) -> str:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    return str(tmp_path / "token")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "_WRONG_PAUSE", 0.0)
    monkeypatch.delenv("PENSTOCK_UI_TOKEN", raising=False)


@pytest.fixture
def guarded() -> TestClient:
    access = Access(frozenset({HOST}), TOKEN, "cert", "key")
    return client_of(str(RECORDED), access, base_url=URL)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.4", "example.org", ""])
def test_another_address_than_loopback_needs_a_token_and_tls(
    host: str, token_file: str, certificate: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "a token and TLS"),
        ({"token_file": token_file}, "TLS"),
        ({"certificate": certificate[0], "key": certificate[1]}, "a token"),
    ]
    for given, missing in cases:
        with pytest.raises(ConfigError) as caught:
            access_for(host, **given)
        assert caught.value.condition == "DASHBOARD_NOT_LOOPBACK"
        assert caught.value.facts["missing"] == missing
        assert caught.value.exit_code == 2
    monkeypatch.setenv("PENSTOCK_UI_TOKEN", TOKEN)
    allowed = access_for(host, certificate=certificate[0], key=certificate[1], allowed_hosts=["Penstock.Example"])
    assert allowed.is_token(TOKEN)
    assert allowed.admits_host(Authority("penstock.example", None))
    assert not allowed.admits_host(Authority("0.0.0.0", None))


def test_start_in_background_refuses_as_well(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        start_in_background(str(tmp_path), host="0.0.0.0")
    assert caught.value.condition == "DASHBOARD_NOT_LOOPBACK"


@pytest.mark.parametrize("options", [{"certificate": "x"}, {"key": "x"}, {"certificate": "/nope", "key": "/nope"},
                                     {"token_file": "/nope"}])  # fmt: skip
def test_options_that_cannot_be_used_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as caught:
        access_for("127.0.0.1", **options)
    assert caught.value.condition == "DASHBOARD_OPTION_INVALID"


@pytest.mark.parametrize("token", ["hunter2", "hunter2" * 9, TOKEN[:21], ""])
def test_a_token_that_can_be_guessed_is_refused_and_not_shown(token: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{token}\n")
    with pytest.raises(ConfigError) as caught:
        access_for("127.0.0.1", token_file=str(tmp_path / "token"))
    assert not token or token not in str(caught.value.to_json())
    assert "openssl rand -hex 32" in caught.value.facts["reason"]


@pytest.mark.parametrize(
    "name", ["", "example.org:80", "a b", "user@example.org", "https://example.org", "[::1]x", "::g"]
)
def test_an_allowed_name_that_no_request_can_have_is_refused(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        access_for("127.0.0.1", allowed_hosts=[name])
    assert caught.value.facts["option"] == "--allow-host"


def test_an_allowed_name_is_one_in_all_its_spellings() -> None:
    for name in ("fd00::1", "[FD00:0::1]"):
        assert access_for("127.0.0.1", allowed_hosts=[name]).hosts >= {"fd00::1"}
    assert access_for("127.0.0.1", allowed_hosts=["Penstock.Example."]).hosts >= {"penstock.example"}


@pytest.mark.parametrize(
    "path", ["/", "/events", "/series?dataset=shop.silver_orders", "/live", "/events.csv", "/nope"]
)
def test_without_the_token_nothing_is_told(guarded: TestClient, path: str) -> None:
    answer = guarded.get(path, follow_redirects=False)
    assert answer.status_code == (303 if path == "/" else 401)
    assert "shop" not in answer.text
    wrong = guarded.get(path, headers={"Authorization": f"Bearer {TOKEN}x"}, follow_redirects=False)
    assert wrong.status_code in {303, 401}
    assert "shop" not in wrong.text


def test_programs_give_the_token_in_a_header(guarded: TestClient) -> None:
    answer = guarded.get("/", headers={"Authorization": f"Bearer {TOKEN}"})
    assert "shop.silver_orders" in answer.text
    assert answer.headers["strict-transport-security"]


def test_people_log_in_once(guarded: TestClient) -> None:
    assert "shop" not in guarded.post("/login", data={"token": "wrong"}, headers={"Origin": URL}).text
    answer = guarded.post("/login", data={"token": TOKEN}, headers={"Origin": URL}, follow_redirects=False)
    assert answer.status_code == 303
    cookie = answer.headers["set-cookie"]
    assert TOKEN not in cookie
    assert all(part in cookie for part in ("HttpOnly", "Secure", "SameSite=strict", "Path=/"))
    assert "shop.silver_orders" in guarded.get("/").text


def test_a_session_ends_and_cannot_be_made_up() -> None:
    access, other = Access(token=TOKEN), Access(token=TOKEN + "2")
    session = access.session(now=1000)
    assert access.is_session(session, now=1001)
    assert not access.is_session(session, now=1001 + SESSION_SECONDS)
    assert not other.is_session(session, now=1001)
    ends, _, signature = session.partition(".")
    for made_up in (
        "",
        ".",
        f"{int(ends) + 1}.{signature}",
        f"{ends}.",
        f"{ends}.x",
        f"٣.{signature}",
        TOKEN,
        "\udcff",
    ):
        assert not access.is_session(made_up, now=1001)


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return False

    monkeypatch.setattr("hmac.compare_digest", compare)
    for given in ("", "a", TOKEN * 9, "\udcff"):
        assert not Access(token=TOKEN).is_token(given)
    assert compared == [(32, 32)] * 4  # digests, whatever was given


@pytest.mark.parametrize("origin", [None, "null", "https://evil.example", f"http://{HOST}:8420", f"https://{HOST}",
                                    f"https://{HOST}.evil.example:8420", f"{URL}/", f"{URL}.evil.example",
                                    "https://[::1]evil.example", f"https://user@{HOST}:8420"])  # fmt: skip
def test_only_the_own_pages_may_post(guarded: TestClient, origin: str | None) -> None:
    headers = {} if origin is None else {"Origin": origin}
    answer = guarded.post("/login", data={"token": TOKEN}, headers=headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_wrong_tokens_are_slowed_down(guarded: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    assert PAUSE >= 1
    monkeypatch.setattr(security, "_WRONG_PAUSE", 1)
    for token, slow in (("wrong", True), (TOKEN, False)):
        started = time.monotonic()
        guarded.post("/login", data={"token": token}, headers={"Origin": URL}, follow_redirects=False)
        assert (time.monotonic() - started >= 1) is slow


def test_an_address_that_guesses_is_told_no_more_and_locks_nobody_out(storage: str) -> None:
    app = create_application(LiveLog(storage), Access(frozenset({HOST}), TOKEN, "cert", "key"))
    guessing = TestClient(app, base_url=URL, client=("10.0.0.1", 1))
    right, wrong = {"Authorization": f"Bearer {TOKEN}"}, {"Authorization": "Bearer wrong"}
    assert [guessing.get("/events.csv", headers=wrong).status_code for _ in range(60)] == [401] * 10 + [429] * 50
    assert guessing.post("/login", data={"token": "wrong"}, headers={"Origin": URL}).status_code == 429
    # One address can be many people: all of a machine, all behind a proxy.
    assert guessing.get("/events.csv", headers=right).status_code == 200
    answer = guessing.post("/login", data={"token": TOKEN}, headers={"Origin": URL}, follow_redirects=False)
    assert answer.status_code == 303
    assert guessing.get("/events.csv").status_code == 200
    assert guessing.get("/events.csv", headers=wrong).status_code == 200  # a session is enough


def test_the_limit_ends_after_a_minute(guarded: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong, now = {"Authorization": "Bearer wrong"}, time.monotonic()
    monkeypatch.setattr(security, "time", SimpleNamespace(monotonic=lambda: now))
    assert [guarded.get("/events.csv", headers=wrong).status_code for _ in range(11)] == [401] * 10 + [429]
    now += 61
    assert [guarded.get("/events.csv", headers=wrong).status_code for _ in range(11)] == [401] * 10 + [429]


def test_a_thousand_wrong_tokens_at_once_are_counted_as_they_are_judged(storage: str) -> None:
    app = create_application(LiveLog(storage), Access(frozenset({HOST}), TOKEN, "cert", "key"))
    transport = httpx.ASGITransport(app, client=("10.0.0.1", 1))
    with anyio.from_thread.start_blocking_portal() as portal:
        told = portal.call(_ask_at_once, httpx.AsyncClient(transport=transport, base_url=URL))
    assert told == {401: 10, 429: 990}


def test_a_thousand_wrong_tokens_over_a_real_server(storage: str) -> None:
    running = start_in_background(storage, port=0, access=Access(token=TOKEN))
    address = ("127.0.0.1", urlsplit(running.url).port or 0)
    ask = "GET /events.csv HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer wrong\r\n{}\r\n"
    fifty = (ask.format("") * 49 + ask.format("Connection: close\r\n")).encode()
    try:
        with ExitStack() as stack:
            connections = [stack.enter_context(socket.create_connection(address, timeout=30)) for _ in range(20)]
            for connection in connections:
                connection.sendall(fifty)
            answers = b"".join(b"".join(iter(partial(each.recv, 65536), b"")) for each in connections)
        assert Counter(re.findall(rb"HTTP/1.1 (\d+)", answers)) == {b"401": 10, b"429": 990}
        assert httpx.get(f"{running.url}x", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 404
    finally:
        running.stop()


async def _ask_at_once(client: httpx.AsyncClient) -> Counter[int]:
    """Asks a thousand times with a wrong token; returns how often each status was the answer."""
    told: Counter[int] = Counter()

    async def ask() -> None:
        answer = await client.post("/login", data={"token": "wrong"}, headers={"Origin": URL})
        told[answer.status_code] += 1

    async with client, anyio.create_task_group() as group:
        for _ in range(1000):
            group.start_soon(ask)
    return told


def test_many_addresses_do_not_help_to_guess(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "_WRONG_OF_ALL", 20)
    app = create_application(LiveLog(storage), Access(frozenset({HOST}), TOKEN, "cert", "key"))
    clients = [TestClient(app, base_url=URL, client=(f"10.0.0.{number}", 1)) for number in range(21)]
    answers = [each.get("/events.csv", headers={"Authorization": "Bearer wrong"}).status_code for each in clients]
    assert answers == [401] * 20 + [429]


def test_a_header_does_not_make_another_address(storage: str) -> None:
    running = start_in_background(storage, port=0, access=Access(token=TOKEN))
    try:
        with httpx.Client(base_url=running.url, headers={"Authorization": "Bearer wrong"}) as client:
            told = [client.get("/x", headers={"X-Forwarded-For": f"10.0.0.{n}"}).status_code for n in range(12)]
    finally:
        running.stop()
    assert told == [401] * 10 + [429] * 2


@pytest.mark.parametrize("host", ["evil.example", "10.0.0.7", f"{HOST}.evil.example"])
def test_other_names_are_refused_before_the_token_is_looked_at(guarded: TestClient, host: str) -> None:
    headers = {"Host": host, "Authorization": f"Bearer {TOKEN}"}
    assert guarded.get("/", headers=headers).status_code == 421


def test_pages_are_compressed_and_what_has_to_do_with_the_token_is_not(guarded: TestClient) -> None:
    asked = {"Authorization": f"Bearer {TOKEN}"}
    for path in ("/", "/events", "/datasets/shop.silver_orders"):
        packed = guarded.get(path, headers=asked)
        plain = guarded.get(path, headers={**asked, "Accept-Encoding": "identity"})
        assert (packed.headers.get("content-encoding"), plain.headers.get("content-encoding")) == ("gzip", None)
        assert packed.text == plain.text
        assert int(packed.headers["content-length"]) < len(plain.content) / 2
    for token, status in ((TOKEN, 303), ("wrong", 401)):
        answer = guarded.post("/login", data={"token": token}, headers={"Origin": URL}, follow_redirects=False)
        assert (answer.status_code, answer.headers.get("content-encoding")) == (status, None)
    assert "content-encoding" not in guarded.get("/login").headers


def test_a_great_login_is_cut_off(guarded: TestClient) -> None:
    answer = guarded.post("/login", content=b"token=" + b"x" * 10_000_000, headers={"Origin": URL})
    assert answer.status_code == 401


def test_login_exists_only_with_a_token(recorded: TestClient) -> None:
    assert recorded.post("/login", headers={"Origin": "http://127.0.0.1:8420"}).status_code == 405


def test_it_is_served_over_tls(storage: str, certificate: tuple[str, str], token_file: str) -> None:
    access = access_for("127.0.0.1", token_file=token_file, certificate=certificate[0], key=certificate[1])
    running = start_in_background(storage, port=0, access=access)
    try:
        assert running.url.startswith("https://")
        trusted = ssl.create_default_context(cafile=certificate[0])
        with httpx.Client(verify=trusted, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as client:
            assert client.get(running.url).status_code == 200
    finally:
        running.stop()
