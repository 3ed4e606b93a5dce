"""docs/how-to/alerts.md, executed: its pipeline files, its check of signatures, its commands, with real receivers."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.recorded.build import recorded_orders
from tests.repo.documents import ROOT, blocks
from tests.unit.alerts.receivers import MailReceiver, WebReceiver, certificate, mail_receiver, web_receiver

from penstock.alerts.rules import all_rules
from penstock.config import TableAlerts, load_project

pytestmark = pytest.mark.usefixtures("one_process")

PAGE = ROOT / "docs/how-to/alerts.md"
FILES = [block.text for block in blocks(PAGE) if block.kind == "yaml"]
SECRET = "canary-s3cret"
ENVIRONMENT = {"ALERT_SECRET": SECRET, "MAIL_PASSWORD": "canary-pa55"}


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def web(pem: Path) -> Iterator[WebReceiver]:
    with web_receiver(pem) as receiver:
        yield receiver


@pytest.fixture
def mail(pem: Path) -> Iterator[MailReceiver]:
    with mail_receiver(pem) as receiver:
        yield receiver


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "orders"
    folder.mkdir()
    recorded_orders(str(folder / ".penstock"))
    return folder


def penstock(folder: Path, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Types a block of the page; the certificate made here is one that the system trusts."""
    return subprocess.run(
        ["bash", "-euc", script],
        cwd=folder,
        env={**os.environ, **ENVIRONMENT, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def shell(containing: str) -> str:
    (found,) = [block.text for block in blocks(PAGE) if block.kind == "sh" and containing in block.text]
    return found


def pipeline_file(folder: Path, containing: str, *changes: tuple[str, str]) -> None:
    """Writes the page's pipeline file that says `containing`, with the addresses of the receivers."""
    (text,) = [text for text in FILES if containing in text]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "penstock.yml").write_text(text)


@pytest.mark.parametrize("text", FILES)
def test_each_pipeline_file_loads(tmp_path: Path, text: str) -> None:
    (tmp_path / "penstock.yml").write_text(text)
    assert load_project(tmp_path).alerts.declared


def test_the_page_names_every_rule() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## What is watched")[2].partition("## Who is notified")[0]
    named = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert sorted(named) == sorted(TableAlerts.__dataclass_fields__)
    assert len(named) == len(all_rules())


def test_a_webhook_is_tested_and_told_and_its_signature_is_right(project: Path, web: WebReceiver, pem: Path) -> None:
    table = ("    orders:", "    bronze_orders:")
    pipeline_file(project, "no_input", ("https://alerts.example.com/penstock", web.url), table)
    done = penstock(project, shell("alerts test"), SSL_CERT_FILE=str(pem))
    assert (done.returncode, done.stdout) == (0, "on_call has taken a test message.\n"), done.stderr
    checked = penstock(project, shell("something is wrong"))
    assert "something is wrong" in checked.stdout
    assert "[TABLE_STALE] The table 'shop.silver_orders' is stale" in checked.stdout
    text = PAGE.read_text(encoding="utf-8")
    (cron,) = re.findall(r"^\*/5 .* && (penstock alerts check --send)$", text, re.MULTILINE)
    for _ in range(2):
        assert penstock(project, cron, SSL_CERT_FILE=str(pem)).returncode == 1
    assert len(web.requests) == 2, "a test, and one message although cron came twice"
    namespace: dict[str, Any] = {}
    (receiver,) = [block.text for block in blocks(PAGE) if block.kind == "python"]
    exec(receiver, namespace)
    for _, headers, body in web.requests:
        assert namespace["is_genuine"](headers, body, SECRET)
        assert not namespace["is_genuine"](headers, body + b" ", SECRET)
    document = json.loads(web.requests[1][2])
    told = re.findall(r"^\| (`version`|`id`|`status`|`pipeline`, `host`|`text`|`alerts`) \|", text, re.MULTILINE)
    assert set(document) == {name for row in told for name in re.findall(r"\w+", row)}
    assert {alert["condition"] for alert in document["alerts"]} == {"TABLE_STALE", "SOURCE_SILENT"}
    shown = penstock(project, shell("events --level"))
    assert "Alert freshness, shop.silver_orders: wrong since" in shown.stdout
    assert "alert no_input: The flow 'bronze_orders' has read no rows" in shown.stdout
    assert SECRET not in "".join(path.read_text() for path in project.rglob("*.jsonl")) + shown.stdout


def test_a_mail_is_tested(project: Path, mail: MailReceiver, pem: Path) -> None:
    changes = (("smtp.example.com", "localhost"), ("port: 587", f"port: {mail.port}"))
    pipeline_file(project, "smtp.example.com", *changes)
    done = penstock(project, shell("alerts test"), SSL_CERT_FILE=str(pem))
    assert (done.returncode, done.stdout) == (0, "operations has taken a test message.\n"), done.stderr
    (text,) = mail.mails
    assert "To: operations@example.com, on-call@example.com" in text
    assert all(encrypted for words, encrypted in mail.commands if words.startswith("AUTH"))


def test_a_command_is_tested(project: Path) -> None:
    (project / "notify.py").write_text(
        "import json, sys\nopen('got', 'w').write(json.load(sys.stdin)['status'] + sys.argv[1])\n"
    )
    pipeline_file(project, "notify.py, --urgent", ("python", sys.executable))
    assert penstock(project, shell("alerts test")).returncode == 0
    assert (project / "got").read_text() == "test--urgent"


def test_what_cannot_be_reached_is_named_without_its_secret(project: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"https://127.0.0.1:{taken.getsockname()[1]}/{SECRET}"
    pipeline_file(project, "CHAT_URL", ("https://alerts.example.com/penstock", "https://169.254.169.254/latest"))
    done = penstock(project, shell("alerts test"), CHAT_URL=url)
    assert done.returncode == 1
    assert "[ALERT_ADDRESS_REFUSED] The destination 'on_call'" in done.stderr
    message = "Alerts could not be delivered to the destination 'chat': Connection refused."
    assert f"[ALERT_NOT_DELIVERED] {message}" in done.stderr
    assert SECRET not in done.stderr + done.stdout
