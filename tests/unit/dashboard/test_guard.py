"""The guard around an application that answers everything: who gets through, and what others are told."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import Message, Scope

from penstock.config.values.authority import Authority
from penstock.dashboard.serving import security
from penstock.dashboard.serving.access import SESSION_SECONDS, Access, access_for
from penstock.dashboard.serving.security import COOKIE, LONGEST_BODY, Guard
from penstock.errors import ConfigError

TOKEN = "a-token-of-enough-characters"
NAME = "penstock.example"
INSIDE = "what readers with the token see"
ACCESS = Access(frozenset({NAME}), TOKEN, "cert", "key")
WRONG = {"Authorization": "Bearer wrong"}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "_WRONG_PAUSE", 0.0)
    monkeypatch.delenv("PENSTOCK_UI_TOKEN", raising=False)


def guarded(access: Access = ACCESS, url: str = f"https://{NAME}", address: str = "10.0.0.1") -> TestClient:
    app = Guard(PlainTextResponse(INSIDE), access)
    return TestClient(app, base_url=url, client=(address, 1), follow_redirects=False)


@pytest.mark.parametrize(
    ("url", "origin", "status"),
    [
        (f"https://{NAME}", f"https://{NAME}", 303),
        (f"https://{NAME}", f"https://{NAME}:443", 303),
        (f"https://{NAME}:8420", f"https://{NAME}:8420", 303),
        (f"https://{NAME}", f"https://{NAME}:80", 403),
        (f"https://{NAME}", f"http://{NAME}", 403),
        (f"https://{NAME}", f"https://{NAME}:8420", 403),
        (f"https://{NAME}", "https://localhost", 403),
        ("http://127.0.0.1", "http://127.0.0.1", 303),
        ("http://127.0.0.1", "http://127.0.0.1:80", 303),
        ("http://127.0.0.1", "http://127.0.0.1:443", 403),
        ("http://127.0.0.1", "https://127.0.0.1", 403),
    ],
)
def test_login_is_taken_from_a_page_of_the_same_scheme_host_and_port(url: str, origin: str, status: int) -> None:
    access = ACCESS if url.startswith("https") else Access(token=TOKEN)
    answer = guarded(access, url).post("/login", data={"token": TOKEN}, headers={"Origin": origin})
    assert answer.status_code == status
    assert (COOKIE in answer.headers.get("set-cookie", "")) is (status == 303)


def test_two_origins_are_refused() -> None:
    own = f"https://{NAME}"
    answer = guarded().post("/login", data={"token": TOKEN}, headers=[("Origin", own), ("Origin", own)])
    assert answer.status_code == 403


@pytest.mark.parametrize(
    ("access", "method", "path", "status"),
    [
        (Access(), "GET", "/x", 200),
        (Access(), "HEAD", "/x", 200),
        (Access(), "POST", "/login", 405),
        (Access(), "POST", "/actions/stop", 405),
        (Access(token=TOKEN), "POST", "/actions/stop", 405),
        (Access(token=TOKEN), "POST", "/x", 405),
        (Access(token=TOKEN, run_command=("run",)), "POST", "/actions/stop", 303),
        (Access(token=TOKEN, run_command=("run",)), "PUT", "/actions/stop", 405),
        (Access(token=TOKEN, run_command=("run",)), "POST", "/x/actions/stop", 405),
    ],
)
def test_methods_that_change_something_are_for_logging_in_and_allowed_actions(
    access: Access, method: str, path: str, status: int
) -> None:
    url = "http://127.0.0.1:8420"
    answer = guarded(access, url).request(method, path, headers={"Origin": url, "Accept": "text/html"})
    assert answer.status_code == status
    assert answer.headers.get("allow") == ("GET, HEAD" if status == 405 else None)


def test_action_needs_the_token_as_well_as_the_origin() -> None:
    url = "http://127.0.0.1:8420"
    client = guarded(Access(token=TOKEN, run_command=("run",)), url)
    known = {"Authorization": f"Bearer {TOKEN}"}
    assert client.post("/actions/stop", headers={"Origin": url}).status_code == 401
    assert client.post("/actions/stop", headers=known).status_code == 403
    assert client.post("/actions/stop", headers={**known, "Origin": url}).text == INSIDE


@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({}, "/static/penstock.css", 200),
        ({}, "/statics", 401),
        ({}, "/", 303),
        ({"Accept": "text/html,*/*"}, "/events", 303),
        ({"Accept": "*/*"}, "/events", 401),
        ({"Authorization": f"Bearer  {TOKEN} "}, "/events", 200),
        ({"Authorization": f"bEARER {TOKEN}"}, "/events", 200),
        ({"Authorization": f"Basic {TOKEN}"}, "/events", 401),
        ({"Authorization": TOKEN}, "/events", 401),
        ({"Cookie": f"a=b; {COOKIE}={ACCESS.session()}"}, "/events", 200),
        ({"Cookie": f"other={ACCESS.session()}"}, "/events", 401),
        ({"Cookie": f"{COOKIE}={ACCESS.session(now=0)}"}, "/events", 401),
        ({"Cookie": f"{COOKIE}={TOKEN}"}, "/events", 401),
    ],
)
def test_who_is_let_in_with_a_token(headers: dict[str, str], path: str, status: int) -> None:
    answer = guarded().get(path, headers=headers)
    assert (answer.status_code, INSIDE in answer.text) == (status, status == 200)
    assert answer.headers.get("location") == ("/login" if status == 303 else None)
    assert answer.headers.get("www-authenticate") == ("Bearer" if status == 401 else None)


def test_login_page_is_shown_without_the_token_and_says_what_was_wrong() -> None:
    client = guarded()
    assert 'name="token"' in client.get("/login").text
    assert client.get("/login").status_code == 200
    wrong = client.post("/login", data={"token": "x"}, headers={"Origin": f"https://{NAME}"})
    assert (wrong.status_code, "That is not the token." in wrong.text) == (401, True)
    for _ in range(9):
        client.get("/x", headers=WRONG)
    late = client.post("/login", data={"token": "x"}, headers={"Origin": f"https://{NAME}"})
    assert (late.status_code, security._TOO_MANY in late.text) == (429, True)
    assert client.get("/x", headers=WRONG).headers["retry-after"] == "60"


def test_session_lasts_as_long_as_its_cookie() -> None:
    answer = guarded().post("/login", data={"token": f" {TOKEN}\n"}, headers={"Origin": f"https://{NAME}"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert int(re.findall(r"Max-Age=(\d+)", answer.headers["set-cookie"])[0]) == SESSION_SECONDS == 12 * 3600
    session = ACCESS.session(now=1000)
    assert ACCESS.is_session(session, now=1000 + SESSION_SECONDS - 1)
    assert not ACCESS.is_session(session, now=1000 + SESSION_SECONDS)


def test_session_that_ends_in_thirty_thousand_years_is_not_read() -> None:
    for digits, valid in (("9" * 12, True), ("9" * 13, False)):
        assert ACCESS.is_session(f"{digits}.{ACCESS._signature(digits)}") is valid


@pytest.mark.parametrize(("access", "url"), [(ACCESS, f"https://{NAME}"), (Access(), "http://127.0.0.1")])
def test_browsers_are_held_to_tls_only_where_it_is_used(access: Access, url: str) -> None:
    expected = "max-age=31536000" if access.secure else None
    assert guarded(access, url).get("/static/x").headers.get("strict-transport-security") == expected


def test_wrong_token_is_forgotten_after_sixty_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(security, "time", SimpleNamespace(monotonic=lambda: clock.now))
    client = guarded()
    assert {client.get("/x", headers=WRONG).status_code for _ in range(10)} == {401}
    clock.now += 59
    assert client.get("/x", headers=WRONG).status_code == 429
    clock.now += 1
    assert client.get("/x", headers=WRONG).status_code == 401


def test_only_the_first_bytes_of_a_login_are_read() -> None:
    async def body(*parts: bytes, more_at_end: bool = False) -> tuple[bytes, int]:
        messages = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
        messages[-1]["more_body"] = more_at_end
        messages.insert(0, {"type": "http.request", "more_body": True})
        left: list[Message] = list(messages)

        async def receive() -> Message:
            return left.pop(0)

        return await security._body(receive), len(left)

    assert anyio.run(body, b"token=", b"ab", b"c") == (b"token=abc", 0)
    long = b"x" * LONGEST_BODY
    assert anyio.run(body, long, b"yz", b"never") == (long, 1)


def test_access_survives_the_pipe_to_the_process_of_the_dashboard() -> None:
    for access in (Access(), Access(frozenset({"b", "a"}), TOKEN, "c", "k", ("penstock", "run"))):
        assert Access.from_json(access.to_json()) == access
    assert TOKEN not in repr(ACCESS)


@pytest.mark.parametrize(
    ("host", "allowed", "named"),
    [
        ("127.0.0.1", [], []),
        ("localhost", ["Proxy.Example"], ["proxy.example", "localhost", "{own}"]),
        ("0.0.0.0", [], ["{own}"]),
        ("::", ["fd00::2"], ["fd00::2", "{own}"]),
        ("192.168.1.4", [], ["192.168.1.4", "{own}"]),
        ("[FD00:0::1]", [], ["fd00::1", "{own}"]),
    ],
)
def test_names_under_which_the_dashboard_answers(
    host: str, allowed: list[str], named: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "Build-7")
    monkeypatch.setattr("penstock.dashboard.serving.access._check_certificate", lambda *_: None)
    monkeypatch.setenv("PENSTOCK_UI_TOKEN", TOKEN)
    access = access_for(host, certificate="c", key="k", allowed_hosts=allowed)
    assert access.hosts == {name.format(own="build-7") for name in named}
    assert access.admits_host(Authority("127.0.0.1", 1))


@pytest.mark.parametrize(
    ("token", "accepted"),
    [("0123456789" * 2 + "01", True), ("0123456789" * 2 + "0", False), ("012345678" * 3, False)],
)
def test_token_has_enough_characters_and_enough_different_ones(
    token: str, accepted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_UI_TOKEN", token)
    if accepted:
        assert access_for("127.0.0.1").token == token
        return
    with pytest.raises(ConfigError) as caught:
        access_for("127.0.0.1")
    assert caught.value.facts["option"] == "PENSTOCK_UI_TOKEN"
    assert "22 characters, 10 of them different" in caught.value.facts["reason"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "No such file or directory"), (b"\xff\xfe", "it is no text"), (b"short\n", "a token that cannot be")],
)
def test_token_file_that_cannot_be_used_is_named(tmp_path: Path, content: bytes | None, reason: str) -> None:
    if content is not None:
        (tmp_path / "token").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        access_for("127.0.0.1", token_file=str(tmp_path / "token"))
    assert caught.value.facts["option"] == "--token-file"
    assert caught.value.facts["reason"].startswith(reason)


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ({"certificate": "c"}, "--tls-key"),
        ({"key": "k"}, "--tls-cert"),
        ({"certificate": "/nope", "key": "/nope"}, "--tls-cert and --tls-key"),
        ({"run_command": ["penstock", "run"]}, "--allow-actions"),
    ],
)
def test_option_that_cannot_be_used_is_named(given: dict[str, Any], option: str) -> None:
    with pytest.raises(ConfigError) as caught:
        access_for("127.0.0.1", **given)
    assert (caught.value.condition, caught.value.facts["option"]) == ("DASHBOARD_OPTION_INVALID", option)
    assert caught.value.facts["reason"]


def test_actions_are_allowed_by_the_command_that_runs_the_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_UI_TOKEN", TOKEN)
    access = access_for("127.0.0.1", run_command=["penstock", "run"])
    assert (access.run_command, access.actions, access.scheme) == (("penstock", "run"), True, "http")
    assert not access_for("127.0.0.1").actions


def test_what_is_no_text_is_a_wrong_token_and_a_wrong_session() -> None:
    answer = guarded().post("/login", content=b"token=\xff", headers={"Origin": f"https://{NAME}"})
    assert answer.status_code == 401
    assert not ACCESS.is_session(f"{ACCESS.session().partition('.')[0]}.\udcff")


def test_request_to_a_proxy_is_refused() -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        raise AssertionError("nothing of it is read")

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http",
        "method": "GET",
        "path": "http://other.example/",
        "headers": [(b"host", b"127.0.0.1")],
    }
    anyio.run(Guard(PlainTextResponse(INSIDE), Access()).__call__, scope, receive, send)
    assert sent[0]["status"] == 400
    assert INSIDE not in str(sent)


def test_address_that_others_reach_says_what_is_missing() -> None:
    with pytest.raises(ConfigError) as caught:
        access_for("192.168.1.4")
    assert caught.value.condition == "DASHBOARD_NOT_LOOPBACK"
    assert caught.value.facts == {
        "host": "192.168.1.4",
        "missing": "a token and TLS",
        "user_at_machine": "user@this-machine",
    }


def test_program_that_accepts_nothing_in_particular_is_asked_for_the_token() -> None:
    client = guarded()
    del client.headers["accept"]
    assert client.get("/events").status_code == 401
