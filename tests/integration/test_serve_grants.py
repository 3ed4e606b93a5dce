"""Grants at the SQL endpoint: who sees which tables, and what a REVOKE does to a query that runs."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyhive import hive
from pyhive.exc import OperationalError
from tests.cli_runner import own_process, running
from tests.integration.sql_endpoint import SqlEndpoint, metadata, state_of
from tests.processes import wait_until
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.runtime.serving.users import hash_password

_PIPELINE = """
import penstock as ps

spark.sql("CREATE TEMPORARY FUNCTION in_region(region STRING) RETURNS BOOLEAN "
          "RETURN region = 'EU' OR is_member('auditors')")


@ps.table(schema="id BIGINT, region STRING", row_filter="ROW FILTER in_region ON (region)")
def customers():
    return spark.readStream.schema("id BIGINT, region STRING").json("data")


@ps.table
def orders():
    return spark.readStream.schema("id BIGINT, region STRING").json("data")


@ps.table
def salaries():
    return spark.readStream.schema("id BIGINT, region STRING").json("data")
"""
_SLOW = "SELECT count(*) FROM orders a, range(1000000000000) b WHERE hash(a.id, b.id) = 1 AND sqrt(a.id + b.id) < 0"
_ROLES = {"analysts": ["ada", "bob"], "auditors": ["bob"], "everyone": ["*"]}


@dataclass(frozen=True)
class _Endpoint:
    folder: Path
    started: SqlEndpoint

    def rows(self, statement: str, user: str = "ada") -> list[Any]:
        auth = {"password": user, "auth": "CUSTOM"} if self.has_users else {}
        with (
            hive.connect("127.0.0.1", self.started.port, username=user, database="shop", **auth) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)
            found: list[Any] = cursor.fetchall()
            return found

    def refusal(self, statement: str, user: str = "ada") -> str:
        with pytest.raises(OperationalError) as caught:
            self.rows(statement, user)
        message = caught.value.args[0].status.errorMessage
        found = re.search(r"\[([A-Z_.]+)\]", message)
        assert found is not None, message
        return found[1]

    @property
    def has_users(self) -> bool:
        return bool(json.loads((self.folder / "penstock.yml").read_text())["serve"]["users"])

    def sql(self, statement: str) -> None:
        result = CliRunner().invoke(app, ["sql", statement, str(self.folder)])
        assert result.exit_code == 0, result.output

    def settings(self, roles: dict[str, list[str]]) -> None:
        (self.folder / "penstock.yml").write_text(_settings(("ada", "bob", "eve"), roles))


def _settings(users: tuple[str, ...], roles: dict[str, list[str]]) -> str:
    serve = {"port": 0, "health_port": 0, "users": {user: hash_password(user) for user in users}}
    document = {"name": "orders", "schema": "shop", "serve": serve, "roles": roles, "access": {"default": "deny"}}
    return json.dumps(document)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grants")
    (folder / "data").mkdir()
    rows = [{"id": number, "region": "EU" if number % 2 == 0 else "US"} for number in range(1, 7)]
    (folder / "data" / "rows.json").write_text("\n".join(map(json.dumps, rows)))
    (folder / "pipeline.py").write_text(_PIPELINE)
    (folder / "penstock.yml").write_text(_settings(("ada", "bob", "eve"), _ROLES))
    own_process("run", folder).expect(0)
    for statement in (
        "GRANT SELECT ON TABLE orders TO analysts",
        "GRANT SELECT ON TABLE customers TO analysts",
        "GRANT SELECT ON TABLE customers TO everyone",
    ):
        assert CliRunner().invoke(app, ["sql", statement, str(folder)]).exit_code == 0
    return folder


def _served(folder: Path) -> Iterator[_Endpoint]:
    with running("serve", folder) as command:
        yield _Endpoint(folder, SqlEndpoint.started(command))


@pytest.fixture(scope="module")
def endpoint(project: Path) -> Iterator[_Endpoint]:
    yield from _served(project)


def _until(check: Callable[[], object]) -> None:
    """Waits until a check holds; a change counts within five seconds."""

    def holds() -> bool:
        with suppress(AssertionError, OperationalError):
            check()
            return True
        return False

    wait_until(holds, timeout=30, what="the change to count", interval=0.5)


_COUNT = "SELECT count(*) FROM "


@pytest.mark.parametrize(
    ("user", "table", "rows"),
    [
        ("ada", "orders", 6),
        ("ada", "customers", 3),
        ("ada", "salaries", None),
        ("bob", "orders", 6),
        ("bob", "customers", 6),
        ("eve", "orders", None),
        ("eve", "customers", 3),
        ("eve", "salaries", None),
    ],
)
def test_a_user_reads_what_is_granted_to_the_role(endpoint: _Endpoint, user: str, table: str, rows: int | None) -> None:
    if rows is not None:
        assert endpoint.rows(_COUNT + table, user) == [(rows,)]
    else:
        assert endpoint.refusal(_COUNT + table, user) == "INSUFFICIENT_PERMISSIONS"


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM spark_catalog.shop.salaries",
        "SELECT id FROM orders WHERE id IN (SELECT id FROM Salaries)",
        "WITH s AS (SELECT * FROM salaries) SELECT count(*) FROM s",
        "EXPLAIN SELECT * FROM salaries",
        "DESCRIBE QUERY SELECT * FROM salaries",
        "DESCRIBE salaries",
        "DESCRIBE EXTENDED shop.salaries id",
        "SHOW COLUMNS IN salaries",
        "SELECT (SELECT max(id) FROM salaries)",
        "SELECT * FROM orders UNION ALL SELECT * FROM salaries",
    ],
)
def test_no_form_of_a_query_goes_round_a_missing_grant(endpoint: _Endpoint, statement: str) -> None:
    assert endpoint.refusal(statement) == "INSUFFICIENT_PERMISSIONS"


@pytest.mark.parametrize(
    ("user", "tables"), [("ada", ["customers", "orders"]), ("eve", ["customers"])], ids=["granted", "everyone"]
)
def test_lists_have_the_tables_that_the_user_may_read(endpoint: _Endpoint, user: str, tables: list[str]) -> None:
    assert [row[1] for row in endpoint.rows("SHOW TABLES", user)] == tables
    with hive.connect("127.0.0.1", endpoint.started.port, username=user, password=user, auth="CUSTOM") as connection:
        found = metadata(connection, "GetTables", schemaName="%", tableName="%")
        assert [row[2] for row in found] == tables
        assert metadata(connection, "GetTables", schemaName="shop", tableName="salaries") == []
        columns = metadata(connection, "GetColumns", schemaName="shop", tableName="%", columnName="%")
        assert sorted({row[2] for row in columns}) == tables


def test_a_schema_without_a_table_for_the_user_is_hidden(endpoint: _Endpoint) -> None:
    endpoint.sql("REVOKE SELECT ON TABLE customers FROM everyone")
    try:
        wait_until(
            lambda: ("shop",) not in endpoint.rows("SHOW SCHEMAS", "eve"), timeout=30, what="the REVOKE", interval=0.5
        )
        assert ("shop",) in endpoint.rows("SHOW SCHEMAS", "ada")
        with hive.connect("127.0.0.1", endpoint.started.port, username="eve", password="eve", auth="CUSTOM") as asked:
            assert "shop" not in [row[0] for row in metadata(asked, "GetSchemas")]
    finally:
        endpoint.sql("GRANT SELECT ON TABLE customers TO everyone")
    _until(lambda: endpoint.rows(_COUNT + "customers", "eve"))


def test_clients_change_no_grants(endpoint: _Endpoint) -> None:
    for statement in ("GRANT SELECT ON TABLE salaries TO ada", "REVOKE SELECT ON TABLE orders FROM analysts"):
        with pytest.raises(OperationalError):
            endpoint.rows(statement)
    assert endpoint.refusal(_COUNT + "salaries") == "INSUFFICIENT_PERMISSIONS"


def test_a_revoke_ends_the_query_that_runs(endpoint: _Endpoint) -> None:
    messages: list[str] = []

    def slow(user: str) -> None:
        try:
            endpoint.rows(_SLOW, user)
        except OperationalError as error:
            messages.append(f"{user}: {error.args[0].status.errorMessage}")

    query = threading.Thread(target=slow, args=("ada",))
    query.start()
    wait_until(lambda: state_of(endpoint.started.health)["running"] == 1, timeout=60, what="the query to run")
    time.sleep(1)  # until it has opened the table
    endpoint.sql("REVOKE SELECT ON TABLE orders FROM analysts")
    try:
        query.join(60)
        assert not query.is_alive(), endpoint.started.stderr
        assert "[SQL_GRANT_REVOKED]" in "".join(messages)
        assert endpoint.refusal(_COUNT + "orders") == "INSUFFICIENT_PERMISSIONS"
    finally:
        endpoint.sql("GRANT SELECT ON TABLE orders TO analysts")
    _until(lambda: endpoint.rows(_COUNT + "orders"))


def test_a_role_in_the_file_counts_without_a_restart(endpoint: _Endpoint) -> None:
    endpoint.settings({**_ROLES, "analysts": ["bob", "eve"], "auditors": ["eve"]})
    try:
        _until(lambda: endpoint.rows(_COUNT + "orders", "eve"))
        assert endpoint.refusal(_COUNT + "orders", "ada") == "INSUFFICIENT_PERMISSIONS"
        assert endpoint.rows(_COUNT + "customers", "eve") == [(6,)], "is_member knows the new role"
        assert endpoint.rows(_COUNT + "customers", "bob") == [(3,)]
    finally:
        endpoint.settings(_ROLES)
        _until(lambda: endpoint.rows(_COUNT + "orders", "ada"))


def test_refusals_are_in_the_record_of_reads(endpoint: _Endpoint) -> None:
    endpoint.refusal(_COUNT + "salaries", "eve")
    document = json.loads(CliRunner().invoke(app, ["audit", str(endpoint.folder), "--json"]).stdout)
    refused = [each for each in document["reads"] if each["arguments"].get("refused")]
    assert (refused[-1]["user_name"], refused[-1]["arguments"]["tables"]) == ("eve", ["shop.salaries"])


def test_names_that_no_password_proves_have_no_role(project: Path, endpoint: _Endpoint, tmp_path: Path) -> None:
    for name in ("data", "pipeline.py", ".penstock"):
        (tmp_path / name).symlink_to(project / name)
    (tmp_path / "penstock.yml").write_text(_settings((), _ROLES))
    open_endpoint = next(served := _served(tmp_path))
    try:
        assert open_endpoint.refusal(_COUNT + "orders", "bob") == "INSUFFICIENT_PERMISSIONS"
        assert open_endpoint.rows(_COUNT + "customers", "bob") == [(3,)], "by the role of everyone, and as no auditor"
    finally:
        with suppress(StopIteration):
            next(served)
