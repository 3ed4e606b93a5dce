"""The dashboard shows rows to whom a grant allows it: users come in a header, from a proxy that knows the token."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.recorded.build import recorded_orders

from penstock.access.statements import ChangeGrant, parse_statement
from penstock.access.store import record_grant
from penstock.config import load_project
from penstock.config.sections.access import AccessSettings
from penstock.dashboard.application import create_application
from penstock.dashboard.known_pipeline import KnownPipeline
from penstock.dashboard.log.live_log import LiveLog
from penstock.dashboard.serving.access import Access, access_for
from penstock.errors import ConfigError
from penstock.events.flows.facts import details_of
from penstock.events.log.reads import ReadAudit, recorded_reads
from penstock.graph.identifier import Identifier
from penstock.storage import StorageLayout

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # starlette would rather have another client than httpx
    from starlette.testclient import TestClient

TOKEN = "a-token-that-cannot-be-guessed-0123456789"
TABLE = "/stored/table/shop.silver_orders"
PROXY = {"Authorization": f"Bearer {TOKEN}"}
ROLES = {"analysts": frozenset({"ada@example.com"})}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text("name: orders\nschema: shop\n")
    storage = str(tmp_path / ".penstock")
    recorded_orders(storage)
    for name in ("silver_orders", "silver_orders__quarantine"):
        write_deltalake(StorageLayout(storage).table(Identifier("shop", name)), pa.table({"order_id": [41]}))
    grant(tmp_path, "GRANT SELECT ON TABLE silver_orders TO analysts")
    return tmp_path


def grant(project: Path, statement: str) -> None:
    config = load_project(project)
    change = parse_statement(statement, default_schema=config.schema)
    assert isinstance(change, ChangeGrant)
    record_grant(config, change)


def client_of(project: Path, access: Access, *, deny: bool = False) -> TestClient:
    storage = str(project / ".penstock")
    known = KnownPipeline(audit=ReadAudit(storage, "orders"), access=AccessSettings(ROLES, deny))
    known = KnownPipeline.from_json(json.loads(json.dumps(known.to_json())))  # as another process gets it
    app = create_application(LiveLog(storage), access, pipeline=known)
    return TestClient(app, base_url="http://127.0.0.1:8420", client=("192.0.2.7", 50000))


def shown(client: TestClient, headers: dict[str, str] | list[tuple[str, str]], path: str = TABLE) -> bool:
    page = client.get(path, headers=headers)
    assert page.status_code == 200
    assert ("<td>41</td>" in page.text) != ("may not read the table" in page.text)
    return "<td>41</td>" in page.text


BEHIND_PROXY = Access(token=TOKEN, user_header="X-Forwarded-Email")


def test_rows_are_for_whom_the_proxy_names(project: Path) -> None:
    client = client_of(project, BEHIND_PROXY)
    assert shown(client, {**PROXY, "X-Forwarded-Email": "ada@example.com"})
    assert not shown(client, {**PROXY, "X-Forwarded-Email": "eve@example.com"})
    assert not shown(client, PROXY)
    seen = [details_of(each.event) for each in recorded_reads(str(project / ".penstock")) if each.event is not None]
    assert [(each["user_name"], each["arguments"].get("refused")) for each in seen] == [
        ("ada@example.com", None),
        ("eve@example.com", "INSUFFICIENT_PERMISSIONS"),
        (None, "INSUFFICIENT_PERMISSIONS"),
    ]


def test_who_knows_no_token_names_nobody(project: Path) -> None:
    client = client_of(project, BEHIND_PROXY)
    assert client.get(TABLE, headers={"X-Forwarded-Email": "ada@example.com"}).status_code == 401
    client.post("/login", data={"token": TOKEN}, headers={"Origin": "http://127.0.0.1:8420"})
    assert not shown(client, {"X-Forwarded-Email": "ada@example.com"}), "a session is no proxy"
    wrong = {"Authorization": "Bearer of-something-else", "X-Forwarded-Email": "ada@example.com"}
    assert not shown(client, wrong), "the session lets the request in, and the wrong token names nobody"


def test_a_header_that_a_browser_added_is_not_taken_beside_the_proxys(project: Path) -> None:
    twice = [*PROXY.items(), ("X-Forwarded-Email", "ada@example.com"), ("X-Forwarded-Email", "eve@example.com")]
    assert not shown(client_of(project, BEHIND_PROXY), twice)


def test_without_the_option_the_header_is_nothing(project: Path) -> None:
    assert not shown(client_of(project, Access(token=TOKEN)), {**PROXY, "X-Forwarded-Email": "ada@example.com"})
    assert not shown(client_of(project, Access()), {"X-Forwarded-Email": "ada@example.com"})


def test_quarantined_rows_need_a_grant_of_their_own(project: Path) -> None:
    client, ada = client_of(project, BEHIND_PROXY), {**PROXY, "X-Forwarded-Email": "ada@example.com"}
    assert "may not read" in client.get("/stored/quarantine/shop.silver_orders", headers=ada).text
    assert "may not read" in client.get("/stored/late/shop.silver_orders", headers=ada).text


def test_the_default_may_be_to_deny(project: Path) -> None:
    write_deltalake(
        StorageLayout(str(project / ".penstock")).table(Identifier("shop", "bronze_orders")), pa.table({"id": [41]})
    )
    path = "/stored/table/shop.bronze_orders"
    assert shown(client_of(project, Access()), {}, path)
    assert not shown(client_of(project, Access(), deny=True), {}, path)


def test_a_damaged_record_shows_no_rows(project: Path) -> None:
    record = project / ".penstock" / "grants" / "000001.jsonl"
    record.write_text(record.read_text().replace("analysts", "everyone"))
    page = client_of(project, Access()).get(TABLE).text
    assert "is not as it was written" in page
    assert "<td>41</td>" not in page


def test_the_option_needs_a_token() -> None:
    with pytest.raises(ConfigError) as refused:
        access_for("127.0.0.1", user_header="X-Forwarded-Email")
    assert refused.value.condition == "DASHBOARD_OPTION_INVALID"
