"""Grants on the command line: GRANT, REVOKE, SHOW GRANTS, and who sees which rows by which command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from tests.unit.cli.test_quarantine import _SCHEMA, ROWS
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.events.log import audit
from penstock.graph.identifier import Identifier
from penstock.storage import StorageLayout

_FILE = "name: orders\nschema: shop\nroles: {analysts: [ada], stewards: [sue]}\n"
_TABLES = ("orders", "people", "orders__quarantine")
_COMMANDS = {
    "show": ("show", "{table}", "{project}", "--json"),
    "sql": ("sql", "SELECT * FROM {table}", "{project}", "--engine", "duckdb", "--json"),
    "subquery": ("sql", "SELECT (SELECT count(*) FROM {table}) AS n", "{project}", "--engine", "duckdb", "--json"),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text(_FILE)
    layout = StorageLayout(str(tmp_path / ".penstock"))
    for table in ("orders", "people"):
        write_deltalake(layout.table(Identifier("shop", table)), pa.table({"id": [1, 2, 3]}))
    quarantine = layout.table(Identifier("shop", "orders__quarantine"))
    write_deltalake(quarantine, pa.Table.from_pylist(ROWS, schema=_SCHEMA))
    return tmp_path


@pytest.fixture
def log_in(monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda user: monkeypatch.setattr("pwd.getpwuid", lambda _: type("Entry", (), {"pw_name": user}))


def ask(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def sql(project: Path, statement: str, *more: str) -> Result:
    result = ask("sql", statement, str(project), *more)
    assert result.exit_code == 0, result.output
    return result


def rows_of(command: str, table: str, project: Path) -> list[Any] | str:
    """Returns the rows that a command shows, or the condition with which it refuses."""
    result = ask(*(word.format(table=table, project=project) for word in _COMMANDS[command]))
    if result.exit_code == 0:
        return list(json.loads(result.stdout))
    assert result.exit_code == 3
    [error] = json.loads(result.stdout).pop("errors")
    return str(error["condition"])


_GRANTS = (
    ("TABLE orders", "analysts"),
    ("TABLE orders__quarantine", "stewards"),
    ("SCHEMA shop", "boss"),
)
_READABLE = {"ada": {"orders"}, "sue": {"orders__quarantine"}, "boss": set(_TABLES), "eve": set[str]()}


@pytest.mark.parametrize("user", _READABLE)
@pytest.mark.parametrize("table", _TABLES)
@pytest.mark.parametrize("command", _COMMANDS)
def test_each_command_shows_what_the_user_may_read(
    project: Path, log_in: Any, user: str, table: str, command: str
) -> None:
    for securable, principal in _GRANTS:
        sql(project, f"GRANT SELECT ON {securable} TO {principal}")
    log_in(user)
    found = rows_of(command, table, project)
    assert isinstance(found, list) == (table in _READABLE[user]), found
    if isinstance(found, str):
        assert found == "INSUFFICIENT_PERMISSIONS"


def test_quarantine_show_needs_a_grant_on_the_quarantine(project: Path, log_in: Any) -> None:
    sql(project, "GRANT SELECT ON TABLE orders TO analysts")
    log_in("ada")
    refused = ask("quarantine", "show", "orders", str(project))
    assert refused.exit_code == 3
    assert "INSUFFICIENT_PERMISSIONS" in refused.stderr
    assert "shop.orders__quarantine" in refused.stderr
    sql(project, "GRANT SELECT ON TABLE orders__quarantine TO ada")
    assert ask("quarantine", "show", "orders", str(project)).exit_code == 0


def test_the_default_may_be_to_deny(project: Path, log_in: Any) -> None:
    (project / "penstock.yml").write_text(_FILE + "access: {default: deny}\n")
    log_in("ada")
    assert rows_of("show", "orders", project) == "INSUFFICIENT_PERMISSIONS"
    sql(project, "GRANT SELECT ON TABLE orders TO analysts")
    assert len(rows_of("show", "orders", project)) == 3
    assert rows_of("sql", "people", project) == "INSUFFICIENT_PERMISSIONS"
    sql(project, "REVOKE SELECT ON TABLE orders FROM analysts")
    assert rows_of("show", "orders", project) == "INSUFFICIENT_PERMISSIONS"


def test_a_query_is_refused_before_its_errors_can_name_values(project: Path, log_in: Any) -> None:
    sql(project, "GRANT SELECT ON TABLE orders TO boss")
    log_in("eve")
    statement = "SELECT CAST('secret ' || id AS INT) FROM orders"
    refused = ask("sql", statement, str(project), "--engine", "duckdb")
    assert "INSUFFICIENT_PERMISSIONS" in refused.stderr
    assert "secret 1" not in refused.output


def test_what_a_change_says(project: Path) -> None:
    first = sql(project, "GRANT USE SCHEMA, SELECT ON SCHEMA shop TO analyst").stderr
    assert "USE SCHEMA: needs no grant here" in first
    assert "Granted SELECT on SCHEMA shop to analyst" in first
    assert "analyst is no role of the pipeline file" in first
    assert "Did you mean 'analysts'?" in first
    assert "only those with a grant read the tables of schema shop" in first
    again = sql(project, "GRANT SELECT ON TABLE Orders TO analysts").stderr
    assert "Granted SELECT on TABLE shop.orders to analysts" in again
    assert "no role" not in again
    assert (
        "Revoked SELECT on SCHEMA shop from analyst" in sql(project, "REVOKE SELECT ON SCHEMA shop FROM analyst").stderr
    )
    assert json.loads(sql(project, "GRANT SELECT ON TABLE orders TO boss", "--json").stdout) == []


def test_show_grants_as_a_table_and_as_json(project: Path) -> None:
    for securable, principal in _GRANTS:
        sql(project, f"GRANT SELECT ON {securable} TO {principal}")
    expected = [
        {"principal": "analysts", "action_type": "SELECT", "object_type": "TABLE", "object_key": "shop.orders"},
        {"principal": "boss", "action_type": "SELECT", "object_type": "SCHEMA", "object_key": "shop"},
    ]
    assert json.loads(sql(project, "SHOW GRANTS ON TABLE orders", "--json").stdout) == expected
    assert json.loads(sql(project, "SHOW GRANTS ada", "--json").stdout) == expected[:1]
    assert "analysts" in sql(project, "SHOW GRANTS").stdout


@pytest.mark.parametrize(
    ("statement", "condition", "code"),
    [
        ("GRANT SELECT ON TABLE ordres TO analysts", "TABLE_NOT_FOUND", 2),
        ("GRANT MODIFY ON TABLE orders TO analysts", "PRIVILEGE_UNSUPPORTED", 2),
        ("GRANT SELECT TABLE orders TO analysts", "PARSE_SYNTAX_ERROR", 2),
    ],
)
def test_a_wrong_statement_changes_nothing(project: Path, statement: str, condition: str, code: int) -> None:
    result = ask("sql", statement, str(project))
    assert result.exit_code == code
    assert condition in result.stderr
    assert not (project / ".penstock" / "grants").exists()


def test_a_damaged_record_shows_no_rows_and_takes_no_change(project: Path) -> None:
    sql(project, "GRANT SELECT ON TABLE orders TO analysts")
    record = project / ".penstock" / "grants" / "000001.jsonl"
    record.write_text(record.read_text().replace("analysts", "everyone"))
    for words in (("show", "people"), ("sql", "GRANT SELECT ON TABLE people TO x"), ("sql", "SHOW GRANTS")):
        result = ask(*words, str(project))
        assert result.exit_code == 3
        assert "GRANTS_DAMAGED" in result.stderr
        assert result.stdout == ""
    assert len(record.read_text().splitlines()) == 1
    assert "AUDIT_CHAIN_BROKEN" in ask("audit", str(project)).output


def test_audit_lists_grants_and_refusals(project: Path, log_in: Any) -> None:
    sql(project, "GRANT SELECT ON TABLE orders TO analysts")
    log_in("eve")
    ask("show", "orders", str(project))
    document = json.loads(ask("audit", str(project), "--json").stdout)
    [grant], [refused] = document["grants"], document["reads"]
    assert grant["arguments"]["principal"] == "analysts"
    assert grant["user_name"] == audit.account() or grant["user_name"]
    assert (refused["user_name"], refused["arguments"]["refused"]) == ("eve", "INSUFFICIENT_PERMISSIONS")
    assert refused["arguments"]["rows"] == 0
    text = ask("audit", str(project)).stdout
    assert "grant SELECT on TABLE shop.orders to analysts" in " ".join(text.split())
    assert "refused: show" in text
    assert "0 actions, 1 read and 1 grant, none changed" in text
    only = json.loads(ask("audit", str(project), "--only", "grants", "--table", "orders", "--json").stdout)
    assert (len(only["grants"]), only["reads"]) == (1, [])
    record = project / ".penstock" / "grants" / "000001.jsonl"
    record.unlink()
    assert "AUDIT_CHAIN_BROKEN" in ask("audit", str(project), "--expect", document["hash_of_grants"]).output
