"""Webhooks, mails and commands against real receivers on loopback."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.unit.alerts.receivers import (
    MailReceiver,
    WebReceiver,
    certificate,
    mail_receiver,
    web_receiver,
)

from penstock.alerts import webhook as webhooks
from penstock.alerts.address import is_loopback, refusal
from penstock.alerts.command import run_command
from penstock.alerts.email import send_email
from penstock.alerts.message import Message, NotDelivered
from penstock.alerts.webhook import send_webhook
from penstock.config import Command, Email, SecretReference, Webhook
from penstock.errors import ConfigError
from penstock.events.alerts import Alert

NOW = datetime(2026, 11, 20, 9, tzinfo=UTC)
STALE = {"condition": "TABLE_STALE", "message": "The table 's.t' is stale: <b>\x1b[31m", "fix": "penstock status"}


def secret(value: str) -> SecretReference:
    return SecretReference("hook", "env", "HOOK", None, lambda: value)


def message(alerts: int = 1) -> Message:
    tables = [f"s.t{number}" for number in range(alerts)]
    return Message("orders", "laptop", tuple(Alert("freshness", name, None, STALE, NOW, NOW) for name in tables))


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def web(pem: Path) -> Iterator[WebReceiver]:
    with web_receiver(pem) as receiver:
        yield receiver


def verify(headers: dict[str, str], body: bytes, key: bytes) -> bool:
    """As the specification of Standard Webhooks says it."""
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return headers["webhook-signature"] == f"v1,{expected}"


def test_a_webhook_is_posted_as_json_over_tls_and_signed(web: WebReceiver, pem: Path) -> None:
    sent = message()
    send_webhook("on_call", Webhook(web.url + "?team=a", secret("s3cret"), ca_file=pem), sent)
    ((path, headers, body),) = web.requests
    assert (path, headers["content-type"], headers["webhook-id"]) == ("/hook?team=a", "application/json", sent.id)
    assert headers["host"] == web.url.split("/")[2]
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 30
    assert verify(headers, body, b"s3cret")
    assert not verify(headers, body.replace(b"orders", b"others"), b"s3cret")
    document = json.loads(body)
    assert document["version"] == 1
    assert (document["status"], document["pipeline"], document["alerts"][0]["dataset"]) == ("firing", "orders", "s.t0")
    assert b"s3cret" not in body


def test_a_secret_in_base64_and_none_at_all(web: WebReceiver, pem: Path) -> None:
    key = bytes(range(32))
    encoded = secret(f"whsec_{base64.b64encode(key).decode()}")
    send_webhook("on_call", Webhook(web.url, encoded, ca_file=pem), message())
    send_webhook("on_call", Webhook(web.url, ca_file=pem), message())
    (_, headers, body), (_, plain, _) = web.requests
    assert verify(headers, body, key)
    assert "webhook-signature" not in plain


def test_the_address_itself_may_be_a_secret(web: WebReceiver, pem: Path) -> None:
    send_webhook("slack", Webhook(secret(web.url), ca_file=pem), message())
    assert len(web.requests) == 1


def test_a_certificate_that_nobody_vouches_for_is_refused(web: WebReceiver) -> None:
    with pytest.raises(NotDelivered, match="certificate is not trusted") as refused:
        send_webhook("on_call", Webhook(web.url), message())
    assert not refused.value.passing
    assert web.requests == []


def test_a_certificate_for_another_name_is_refused(web: WebReceiver, pem: Path) -> None:
    port = web.url.split("/")[2].partition(":")[2]
    with pytest.raises(NotDelivered, match="certificate is not trusted"):
        send_webhook("on_call", Webhook(f"https://127.0.0.1:{port}/", ca_file=pem), message())


@pytest.mark.parametrize(
    ("status", "passing"), [(500, True), (503, True), (429, True), (408, True), (400, False), (404, False)]
)
def test_an_answer_that_is_no_success(web: WebReceiver, pem: Path, status: int, passing: bool) -> None:
    web.answer = status
    with pytest.raises(NotDelivered, match=f"it answered {status}") as failed:
        send_webhook("on_call", Webhook(web.url, ca_file=pem), message())
    assert failed.value.passing is passing


def test_a_redirect_is_not_followed(web: WebReceiver, pem: Path) -> None:
    web.answer, web.headers = 307, {"Location": "http://169.254.169.254/latest/meta-data"}
    with pytest.raises(NotDelivered, match="it answered 307"):
        send_webhook("on_call", Webhook(web.url, ca_file=pem), message())
    assert len(web.requests) == 1


def test_a_receiver_that_does_not_answer_is_given_up(web: WebReceiver, pem: Path) -> None:
    web.hold.clear()
    with pytest.raises(NotDelivered, match="did not answer in time") as slow:
        send_webhook("on_call", Webhook(web.url, ca_file=pem), message(), timeout=0.2)
    assert slow.value.passing


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(NotDelivered, match="refused") as dead:
        send_webhook("on_call", Webhook(f"https://127.0.0.1:{port}/"), message())
    assert dead.value.passing


def test_plain_http_is_refused_unless_it_stays_on_this_machine_and_is_allowed() -> None:
    with web_receiver() as plain:
        with pytest.raises(ConfigError, match="ALERT_ADDRESS_REFUSED") as refused:
            send_webhook("on_call", Webhook(plain.url), message())
        assert refused.value.facts["reason"] == "only https:// keeps others from reading the message"
        assert plain.requests == []
        send_webhook("on_call", Webhook(plain.url, allow_loopback_http=True), message())
        assert len(plain.requests) == 1
    with pytest.raises(ConfigError, match="ALERT_ADDRESS_REFUSED"):
        send_webhook("on_call", Webhook("http://192.0.2.1/", allow_loopback_http=True), message())


REFUSED = [
    "169.254.169.254",
    "169.254.1.2",
    "[fe80::1]",
    "[fd00:ec2::254]",
    "100.100.100.200",
    "168.63.129.16",
    "0.0.0.0",
    "[::]",
    "224.0.0.1",
    "255.255.255.255",
    "[::ffff:169.254.169.254]",
    "[64:ff9b::a9fe:a9fe]",
    "[2002:a9fe:a9fe::1]",
    "2852039166",
    "0xa9fea9fe",
]


@pytest.mark.parametrize("host", REFUSED)
def test_addresses_of_the_machines_own_services_are_refused(host: str) -> None:
    with pytest.raises(ConfigError) as refused:
        send_webhook("on_call", Webhook(f"https://{host}/latest/meta-data/token"), message())
    assert refused.value.condition == "ALERT_ADDRESS_REFUSED"
    assert "latest" not in str(refused.value), "the path may be secret"


def test_a_name_that_leads_to_one_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "addresses_of", lambda *_: ["192.0.2.1", "169.254.169.254"])
    with pytest.raises(ConfigError, match="ALERT_ADDRESS_REFUSED"):
        send_webhook("on_call", Webhook("https://alerts.example.com/"), message())


def test_the_connection_goes_to_the_address_that_was_checked(
    web: WebReceiver, pem: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def once(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    monkeypatch.setattr(webhooks, "addresses_of", once)
    send_webhook("on_call", Webhook(web.url, ca_file=pem), message())
    assert asked == ["localhost"]


def test_private_addresses_are_receivers_like_others() -> None:
    assert [refusal(address) for address in ("10.0.0.1", "192.168.1.1", "93.184.215.14", "fd12::1", "127.0.0.1")] == [
        None
    ] * 5
    assert is_loopback("::ffff:127.0.0.1")
    assert not is_loopback("10.0.0.1")


@pytest.mark.parametrize("url", ["ftp://example.com/", "https:///path", "nonsense"])
def test_a_secret_that_is_no_address(url: str) -> None:
    with pytest.raises(ConfigError) as refused:
        send_webhook("slack", Webhook(secret(url)), message())
    assert url not in str(refused.value)


def mail(receiver: MailReceiver, **more: object) -> Email:
    given = {"host": "localhost", "sender": "penstock@example.com", "to": ("a@example.com", "b@example.com")}
    return Email(**{**given, "port": receiver.port, **more})  # type: ignore[arg-type]


def test_a_mail_goes_encrypted_with_a_login(pem: Path) -> None:
    with mail_receiver(pem) as receiver:
        send_email("ops", mail(receiver, username="me", password=secret("pa55"), ca_file=pem), message())
        (text,) = receiver.mails
    assert "Subject: orders firing: [TABLE_STALE] The table 's.t' is stale: <b>" in text.replace("\r\n ", " ")
    assert "To: a@example.com, b@example.com" in text
    assert "Fix: penstock status" in text
    assert "\x1b" not in text
    verbs = [(words.partition(" ")[0], encrypted) for words, encrypted in receiver.commands]
    assert ("AUTH", True) in verbs
    assert all(encrypted for verb, encrypted in verbs if verb in {"AUTH", "MAIL", "RCPT", "DATA"})


def test_without_starttls_nothing_is_sent_unless_it_stays_on_this_machine_and_is_allowed() -> None:
    with mail_receiver(None) as receiver:
        with pytest.raises(NotDelivered, match="no STARTTLS"):
            send_email("ops", mail(receiver, username="me", password=secret("pa55")), message())
        assert [words for words, _ in receiver.commands if words.startswith(("AUTH", "MAIL"))] == []
        send_email("ops", mail(receiver, allow_loopback_plain=True), message())
        assert len(receiver.mails) == 1


def test_a_mail_server_whose_certificate_is_not_trusted_gets_no_password(pem: Path) -> None:
    with mail_receiver(pem) as receiver:
        with pytest.raises(NotDelivered, match="certificate is not trusted"):
            send_email("ops", mail(receiver, username="me", password=secret("pa55")), message())
        assert [words for words, _ in receiver.commands if words.startswith(("AUTH", "MAIL"))] == []


@pytest.mark.parametrize(
    ("verb", "answer", "passing"),
    [
        ("AUTH", "535 no", False),
        ("MAIL", "451 later", True),
        ("RCPT", "550 unknown", True),
        ("DATA", "554 spam", False),
    ],
)
def test_a_mail_server_that_refuses(pem: Path, verb: str, answer: str, passing: bool) -> None:
    with mail_receiver(pem) as receiver:
        receiver.refuse = {verb: answer}
        with pytest.raises(NotDelivered) as refused:
            send_email("ops", mail(receiver, username="me", password=secret("pa55"), ca_file=pem), message())
    assert refused.value.passing is passing
    assert "pa55" not in refused.value.reason


def test_a_mail_server_at_an_address_of_the_machines_own_services() -> None:
    with pytest.raises(ConfigError, match="ALERT_ADDRESS_REFUSED"):
        send_email("ops", Email("169.254.169.254", "a@b.c", ("d@e.f",)), message())


def test_nobody_takes_mails() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(NotDelivered, match="refused"):
        send_email("ops", Email("127.0.0.1", "a@b.c", ("d@e.f",), port=port), message())


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], Command]:
    def write(text: str) -> Command:
        (tmp_path / "notify.py").write_text(text)
        return Command((sys.executable, "notify.py", "$(touch owned)", "; touch owned"), tmp_path)

    return write


def test_a_command_gets_the_message_and_no_shell(script: Callable[[str], Command], tmp_path: Path) -> None:
    command = script("import sys; open('got.txt', 'w').write(repr(sys.argv[1:]) + sys.stdin.read())")
    run_command("pager", command, message())
    got = (tmp_path / "got.txt").read_text()
    assert got.startswith("['$(touch owned)', '; touch owned']{")
    assert not (tmp_path / "owned").exists()


def test_a_command_that_fails_says_why_in_its_last_line(script: Callable[[str], Command]) -> None:
    with pytest.raises(NotDelivered) as failed:
        run_command(
            "pager", script("import sys; print('first', file=sys.stderr); sys.exit('no \\x1b[31mtoken')"), message()
        )
    assert failed.value.reason == "it ended with exit code 1: no token"


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotDelivered, match="cannot be run: No such file"):
        run_command("pager", Command(("no-such-program",), tmp_path), message())


def test_a_command_that_hangs_is_ended_with_what_it_started(script: Callable[[str], Command], tmp_path: Path) -> None:
    hangs = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', \"import time; time.sleep(1.5); open('alive', 'w')\"])\n"
        "time.sleep(60)"
    )
    with pytest.raises(NotDelivered, match=r"took longer than 0\.8 s"):
        run_command("pager", script(hangs), message(), timeout=0.8)
    time.sleep(1.2)
    assert not (tmp_path / "alive").exists()


def test_a_command_that_reads_nothing_of_a_large_message_is_no_failure(script: Callable[[str], Command]) -> None:
    run_command("pager", script("pass"), message(2000))


def test_a_message_of_many_alerts_is_short_for_people_and_whole_for_programs() -> None:
    many = message(1000)
    assert len(many.to_json()["alerts"]) == 1000
    assert len(many.text().splitlines()) < 70
    assert many.text().endswith("and 980 more: penstock status")
    assert many.subject == "orders: 1000 firing, 0 resolved"


def test_the_id_is_that_of_the_alerts_and_their_states() -> None:
    assert message().id == message().id
    assert message().id != message(2).id
    over = Message("orders", "laptop", (Alert("freshness", "s.t0", None, STALE, NOW, NOW, NOW),))
    assert over.id != message().id
    assert over.status == "resolved"
