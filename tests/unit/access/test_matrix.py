"""Who reads what, by which command and which page: the matrix of reader, way and table.

A new command or route fails here until it has a line: how it is asked and how one sees a table in its answer, or why
grants do not concern it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from starlette.routing import Mount, Route
from starlette.testclient import TestClient
from tests.recorded.build import recorded_orders
from typer.testing import CliRunner

from penstock.access.statements import ChangeGrant, parse_statement
from penstock.access.store import record_grant
from penstock.cli.command_table import all_commands
from penstock.cli.main import app
from penstock.config import load_project
from penstock.dashboard.application import create_application
from penstock.dashboard.known_pipeline import KnownPipeline
from penstock.dashboard.log.live_log import LiveLog
from penstock.dashboard.serving.access import Access
from penstock.events.codec import encode
from penstock.events.log.reader import read_events
from penstock.graph.identifier import Identifier
from penstock.storage import StorageLayout

_TOKEN: Final = "a-token-that-cannot-be-guessed-0123456789"
_TABLES: Final = ("bronze_orders", "silver_orders", "hourly_revenue", "revenue_report")
_GRANTS: Final = (
    ("TABLE silver_orders", "analysts"),
    ("TABLE hourly_revenue", "ada"),
    ("TABLE event_log", "operators"),
    ("SCHEMA shop", "boss"),
    ("TABLE event_log", "boss"),
)
_FILE: Final = "name: orders\nschema: shop\nroles: {analysts: [ada], operators: [olga]}\naccess: {default: deny}\n"
_ROWS: Final = {"ada": {"silver_orders", "hourly_revenue"}, "olga": set[str](), "eve": set[str](), "boss": {*_TABLES}}
_EVENTS: Final = {**_ROWS, "olga": {*_TABLES}}
"""Of which tables each reader sees rows, and of which events."""

_NO_ROWS: Final = "changes the pipeline or a table, and shows no rows"
_OWN_FILES: Final = "reads and writes the user's own files"
_OPERATORS: Final = "for who runs the pipeline: it reads the storage's own files, of all tables or none, and no rows"

_REFUSES: Final[dict[str, tuple[str, ...]]] = {
    "show": ("show", "{table}", "{project}", "--json"),
    "sql": ("sql", "SELECT * FROM {table}", "{project}", "--engine", "duckdb", "--json"),
    "watermark": ("watermark", "{table}", "{project}", "--json"),
}
"""Commands about one table: they refuse."""

_NARROWS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "events": (("events", "{project}", "--count", "0", "--json"), '"dataset_name":"shop.{table}"'),
    "status": (("status", "{project}", "--json"), '"name": "shop.{table}"'),
    "top": (("top", "{project}", "--json"), '"dataset": "shop.{table}"'),
    "cost": (("cost", "{project}", "--json"), '"shop.{table}"'),
    "metrics show": (("metrics", "show", "{project}"), 'dataset="shop.{table}"'),
    "graph": (("graph", "{project}", "--json"), '"name": "shop.{table}", "kind": "'),
}
"""Commands about all tables: they leave out what is not seen. Beside each, by what one knows that a table is seen."""

_OTHERS: Final[dict[str, str]] = {
    "compare": "refuses before Spark starts: test_a_command_with_spark_refuses_before_it_starts",
    "dev": "tests/spark/runtime/test_dev.py: it refuses when the pipeline is analysed, before it reads a table",
    "state": "as compare",
    "replay": "as compare",
    "quarantine show": "tests/unit/cli/test_grants.py: it needs a grant of its own",
    "late show": "as quarantine show",
    "ui": "the routes of the dashboard, below",
    "serve": "tests/integration/test_serve_grants.py",
    "audit": "for auditors: statements and names of all tables, which show who read what; no rows",
    "alerts check": "its exit code is about all tables, for a scheduler; no rows",
    **dict.fromkeys(("init", "setup", "stubs", "lint", "explain", "script", "test"), _OWN_FILES),
    **dict.fromkeys(("validate", "plan"), "reads the pipeline's files, and analyses them; no rows"),
    **dict.fromkeys(("run", "optimize", "vacuum", "compact", "drop", "adopt"), _NO_ROWS),
    **dict.fromkeys(("quarantine replay", "late reprocess"), _NO_ROWS),
    **dict.fromkeys(("doctor", "tune"), _OPERATORS),
    **{f"checkpoint {each}": _OPERATORS for each in ("ls", "show", "verify", "backup", "restore", "rebuild")},
    **{f"checkpoint {each}": _OPERATORS for each in ("rewind", "repartition", "reset")},
    **{f"alerts {each}": "sends a message that says it is a test" for each in ("test",)},
    **{f"metrics {each}": "prints a file of the package" for each in ("rules", "grafana")},
    **{
        f"deploy {each}": "writes files from the pipeline file and the grants"
        for each in ("docker", "kubernetes", "systemd", "airflow", "dagster", "github-actions", "policy")
    },
}

_PAGES: Final[dict[str, tuple[str, str]]] = {
    "/": ("/", 'href="/datasets/shop.{table}"'),
    "/datasets/{name:path}": ("/datasets/shop.{table}", "<title>shop.{table}"),
    "/flows/{name:path}": ("/flows/shop.{table}", "<h1>{table}"),
    "/updates/{id:path}": ("/updates/{update}", "/flows/shop.{table}"),
    "/compare": ("/compare", "/flows/shop.{table}"),
    "/events": ("/events?level=all", '<a href="/datasets/shop.{table}"'),
    "/events.csv": ("/events.csv?level=all", ",shop.{table},"),
    "/series": ("/series?dataset=shop.{table}", '"flows"'),
    "/series.csv": ("/series.csv?dataset=shop.{table}", "timestamp"),
    "/cost": ("/cost?price=1", "shop.{table}"),
}
"""Pages of events: the address, and by what one knows that a table is seen."""

_PAGES_OF_ROWS: Final = {"/stored/{kind}/{name:path}": ("/stored/table/shop.{table}", "<td>41</td>")}
_OTHER_ROUTES: Final[dict[str, str]] = {
    "/problems": "test_problems_and_errors_are_those_of_tables_that_one_sees",
    "/checks": "no facts: its findings are a route of their own",
    "/checks/findings": "test_checks_need_the_event_log",
    "/updates": "states and times of updates",
    "/live": "a number that grows",
    "/actions/{action}": "changes the pipeline, for who may act",
    "/static/lineage.css": "a file of the package",
    "/static": "files of the package",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("matrix")
    (folder / "penstock.yml").write_text(_FILE)
    storage = str(folder / ".penstock")
    recorded_orders(storage)
    for name in _TABLES:
        write_deltalake(StorageLayout(storage).table(Identifier("shop", name)), pa.table({"order_id": [41]}))
    config = load_project(folder)
    for securable, principal in _GRANTS:
        change = parse_statement(f"GRANT SELECT ON {securable} TO {principal}", default_schema=config.schema)
        assert isinstance(change, ChangeGrant)
        record_grant(config, change)
    return folder


@pytest.fixture
def log_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda user: monkeypatch.setattr("pwd.getpwuid", lambda _: type("Entry", (), {"pw_name": user}))


def test_each_command_has_a_line() -> None:
    assert set(all_commands()) == {*_REFUSES, *_NARROWS, *_OTHERS}


def test_each_route_has_a_line(project: Path) -> None:
    actions = Access(token=_TOKEN, run_command=("penstock", "run"))
    guard: Any = create_application(LiveLog(str(project / ".penstock")), actions)
    routes = {each.path for each in guard._app.routes if isinstance(each, Route | Mount)}
    assert routes == {*_PAGES, *_PAGES_OF_ROWS, *_OTHER_ROUTES}


@pytest.mark.parametrize("user", _ROWS)
@pytest.mark.parametrize("command", _REFUSES)
def test_a_command_about_a_table_refuses(project: Path, log_in: Callable[[str], None], user: str, command: str) -> None:
    log_in(user)
    for table in _TABLES:
        answer = CliRunner().invoke(app, [word.format(table=table, project=project) for word in _REFUSES[command]])
        refused = "INSUFFICIENT_PERMISSIONS" in answer.stdout
        assert refused != (table in _ROWS[user]), (table, answer.output)
        assert not refused or answer.exit_code == 3


@pytest.mark.parametrize("user", _EVENTS)
@pytest.mark.parametrize("command", _NARROWS)
def test_a_command_about_all_tables_leaves_out_the_closed_ones(
    project: Path, log_in: Callable[[str], None], user: str, command: str
) -> None:
    log_in(user)
    words, mark = _NARROWS[command]
    answer = CliRunner().invoke(app, [word.format(project=project) for word in words])
    seen = {table for table in _TABLES if mark.format(table=table) in answer.stdout}
    assert seen == _EVENTS[user], answer.output
    assert ("you may not read" in answer.stderr) == (_EVENTS[user] != {*_TABLES})


def test_a_command_with_spark_refuses_before_it_starts(project: Path, log_in: Callable[[str], None]) -> None:
    log_in("ada")
    for words in (("compare", "silver_orders", "revenue_report"), ("compare", "bronze_orders", "silver_orders")):
        answer = CliRunner().invoke(app, [*words, str(project)])
        assert "INSUFFICIENT_PERMISSIONS" in answer.output


@pytest.fixture(scope="module")
def page(project: Path) -> Callable[[str, str], str]:
    """Returns the page of a user at an address; all users have one dashboard."""
    known = KnownPipeline(access=load_project(project).access)
    behind_proxy = Access(token=_TOKEN, user_header="X-User")
    application = create_application(LiveLog(str(project / ".penstock")), behind_proxy, pipeline=known)
    client = TestClient(application, base_url="http://127.0.0.1:8420", client=("192.0.2.7", 50000))
    return lambda user, address: client.get(address, headers={"Authorization": f"Bearer {_TOKEN}", "X-User": user}).text


@pytest.mark.parametrize("user", _EVENTS)
@pytest.mark.parametrize("route", _PAGES)
def test_pages_leave_out_closed_tables(project: Path, page: Callable[[str, str], str], user: str, route: str) -> None:
    update = next(iter(read_events(str(project / ".penstock")))).origin.update_id
    address, mark = _PAGES[route]
    pages = {table: page(user, address.format(table=table, update=update)) for table in _TABLES}
    seen = {table for table in _TABLES if mark.format(table=table) in pages[table]}
    assert seen == _EVENTS[user], pages


@pytest.mark.parametrize("user", ["ada", "olga"])
def test_rows_on_pages_are_refused(page: Callable[[str, str], str], user: str) -> None:
    address, mark = _PAGES_OF_ROWS["/stored/{kind}/{name:path}"]
    pages = {table: page(user, address.format(table=table)) for table in _TABLES}
    assert {table for table in _TABLES if mark in pages[table]} == _ROWS[user]
    assert all("may not read the table" in pages[table] for table in {*_TABLES} - _ROWS[user])


def test_problems_and_errors_are_those_of_tables_that_one_sees(page: Callable[[str, str], str]) -> None:
    for address in ("/problems", "/events"):
        assert "-12.5" in page("olga", address)
        assert "-12.5" not in page("eve", address)


def test_checks_need_the_event_log(page: Callable[[str, str], str]) -> None:
    assert "penstock.event_log" in page("ada", "/checks/findings")
    assert "penstock.event_log" not in page("olga", "/checks/findings")


def test_pages_say_that_something_is_left_out(page: Callable[[str, str], str]) -> None:
    assert "Without the tables that you may not read" in page("ada", "/")
    assert "Without the tables that you may not read" not in page("olga", "/")


def test_what_a_table_reads_is_shown_by_name_only(project: Path, log_in: Callable[[str], None]) -> None:
    """Ada reads silver_orders, whose query reads a column of bronze_orders, which she may not read."""
    log_in("ada")
    answer = CliRunner().invoke(app, ["events", str(project), "--count", "0", "--json"])
    found = [json.loads(line) for line in answer.stdout.splitlines()]
    details = [json.loads(each["details"]) for each in found if each["event_type"] == "flow_definition"]
    [silver] = {json.dumps(each) for each in details if "silver" in each["flow_definition"]["output_dataset"]}
    assert json.loads(silver)["flow_definition"]["column_lineage"] is None
    assert "paid_orders" in silver
    assert not [each for each in found if each["origin"]["dataset_name"] == "shop.paid_orders"], (
        "a view of bronze_orders"
    )
    assert not [each for each in found if each["event_type"] == "user_action"]


def test_the_log_is_open_where_no_grant_has_closed_a_table(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: orders\nschema: shop\n")
    storage = str(tmp_path / ".penstock")
    recorded_orders(storage)
    answer = CliRunner().invoke(app, ["events", str(tmp_path), "--count", "0", "--json"])
    assert answer.stdout == "".join(map(encode, read_events(storage)))
    assert "you may not read" not in answer.stderr
