"""`penstock serve` with real clients: PyHive, beeline, and the metadata calls of ODBC drivers."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from pyhive import hive
from pyhive.exc import OperationalError
from TCLIService import ttypes
from tests.certificates import Authority
from tests.cli_runner import Running, own_process, running
from tests.integration.ldap_server import GROUPS, PEOPLE, LdapServer, ldap_server
from tests.integration.sql_endpoint import SqlEndpoint, metadata, state_of
from tests.processes import wait_until
from thrift.transport.TTransport import TTransportException

from penstock.runtime.serving.users import hash_password
from penstock.spark.session.setup.java import find_java
from penstock.spark.session.setup.known_jars import SPARK_HOME

_PIPELINE = """
import penstock as ps

spark.sql("CREATE TEMPORARY FUNCTION in_region(region STRING) RETURNS BOOLEAN "
          "RETURN region = 'EU' OR current_user() = 'auditor' OR is_member('stewards')")
spark.sql("CREATE TEMPORARY FUNCTION initials(name STRING) RETURNS STRING RETURN left(name, 1)")


@ps.table(
    schema="id BIGINT COMMENT 'the key', region STRING, name STRING MASK initials",
    row_filter="ROW FILTER in_region ON (region)",
)
def customers():
    return spark.readStream.schema("id BIGINT, region STRING, name STRING").json("data")


@ps.table
def orders():
    return spark.readStream.schema("id BIGINT, region STRING, name STRING").json("data")


@ps.table
def audits():
    return spark.readStream.schema("id BIGINT, region STRING, name STRING").json("data")


@ps.table(private=True)
def secrets():
    return spark.readStream.schema("id BIGINT, region STRING, name STRING").json("data")
"""
_ROWS = [(number, "EU" if number % 2 == 0 else "US", f"person {number}") for number in range(1, 7)]
_EUROPEANS = [(2, "EU", "p"), (4, "EU", "p"), (6, "EU", "p")]
_BOB = "bob's password"
_WARMING = """
WITH c AS (SELECT * FROM customers WHERE id NOT IN (SELECT -id FROM orders))
SELECT c.id, c.name, count(*) FROM c JOIN orders o ON c.id = o.id GROUP BY c.id, c.name ORDER BY c.id
"""
_SLOW = "SELECT count(*) FROM range(1000000000000) WHERE hash(id) = 1 AND sqrt(id) < 0"


@dataclass(frozen=True)
class _Endpoint:
    folder: Path
    port: int
    health: str
    command: Running
    stderr: list[str]
    ldap: LdapServer

    def connect(self, user: str = "ada", password: str = "ada's", **options: Any) -> Any:
        return hive.connect(
            "127.0.0.1", self.port, username=user, password=password, auth="CUSTOM", database="shop", **options
        )

    def rows(self, statement: str, user: str = "ada", password: str = "ada's", **options: Any) -> list[Any]:
        with self.connect(user, password, **options) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            found: list[Any] = cursor.fetchall()
            return found

    def is_warm(self) -> bool:
        """Whether a query ends in time; the first ones may take longer on a busy machine."""
        with suppress(OperationalError):
            return self.rows(_WARMING) == [(2, "p", 1), (4, "p", 1), (6, "p", 1)]
        return False

    def refusal(self, statement: str, **options: Any) -> str:
        """Returns the condition with which a statement is refused."""
        with pytest.raises(OperationalError) as caught:
            self.rows(statement, **options)
        message = caught.value.args[0].status.errorMessage
        found = re.search(r"\[([A-Z_.]+)\]", message)
        assert found is not None, message
        assert "Fix: " in message or not found[1].startswith("SQL_")
        return found[1]

    @property
    def jdbc(self) -> str:
        return f"jdbc:hive2://127.0.0.1:{self.port}/shop"


_HOSTILE = {"HIVE_SERVER2_THRIFT_BIND_HOST": "0.0.0.0", "HIVE_SERVER2_TRANSPORT_MODE": "http"}


def _settings(users: dict[str, str], **more: Any) -> str:
    serve = {
        **more,
        "port": 0,
        "health_port": 0,
        "query_timeout": "10 seconds",
        "row_limit": 1000,
        "max_result_size": "1m",
    }
    spark = {"spark.sql.hive.thriftServer.singleSession": "true"}  # is not heeded
    return json.dumps({"name": "orders", "schema": "shop", "serve": {**serve, "users": users}, "spark_conf": spark})


_USERS = {"ada": hash_password("ada's"), "auditor": hash_password("auditor's"), "bob": "${env:BOB}"}


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Endpoint]:
    folder = tmp_path_factory.mktemp("serve")
    (folder / "data").mkdir()
    lines = [json.dumps(dict(zip(("id", "region", "name"), row, strict=True))) for row in _ROWS]
    (folder / "data" / "rows.json").write_text("\n".join(lines))
    (folder / "pipeline.py").write_text(_PIPELINE)
    passwords = {"grace": "grace's", "ada": "another ada's", "joe": "joe's"}
    with ldap_server(folder / "ldap", passwords, groups={"stewards": ["grace", "ada"]}, of_entries=True) as ldap:
        yield from _started(folder, ldap)


def _started(folder: Path, ldap: LdapServer) -> Iterator[_Endpoint]:
    directory = {"ldap_url": ldap.url, "ldap_user": f"uid={{user}},{PEOPLE}", "ldap_certificates": "authority.pem"}
    groups = {"ldap_roles": {"stewards": [f"cn=stewards,{GROUPS}"]}}
    shutil.copy(ldap.certificates, folder / "authority.pem")
    (folder / "penstock.yml").write_text(_settings(_USERS, **directory, **groups))
    own_process("run", folder).expect(0)
    own_process("sql", "GRANT SELECT ON TABLE audits TO stewards", folder).expect(0)
    with running("serve", folder, environ={"BOB": _BOB, **_HOSTILE}) as command:
        started = SqlEndpoint.started(command)
        endpoint = _Endpoint(folder, started.port, started.health, command, started.stderr, ldap)
        wait_until(endpoint.is_warm, timeout=120, what="the first query")
        yield endpoint


def test_a_reader_sees_filtered_rows_and_masks(endpoint: _Endpoint) -> None:
    assert endpoint.rows("SELECT * FROM customers ORDER BY id") == _EUROPEANS
    assert endpoint.rows("SELECT * FROM spark_catalog.shop.customers ORDER BY id") == _EUROPEANS
    assert endpoint.rows("WITH c AS (SELECT * FROM customers) SELECT name FROM c WHERE id = 2") == [("p",)]
    assert endpoint.rows("SELECT id FROM orders WHERE id NOT IN (SELECT id FROM customers) ORDER BY id") == [
        (1,),
        (3,),
        (5,),
    ]
    assert endpoint.rows("SELECT * FROM orders ORDER BY id") == _ROWS


def test_it_listens_on_the_loopback_address_only(endpoint: _Endpoint) -> None:
    listening = [tuple(each.laddr) for each in psutil.net_connections("tcp") if each.status == psutil.CONN_LISTEN]
    found = [str(address).removeprefix("::ffff:") for address, port in listening if port == endpoint.port]
    assert found == ["127.0.0.1"]


def test_a_filter_knows_the_user(endpoint: _Endpoint) -> None:
    seen = endpoint.rows("SELECT * FROM customers ORDER BY id", "auditor", "auditor's")
    assert seen == [(number, region, "p") for number, region, _ in _ROWS]


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        ("INSERT INTO orders VALUES (9, 'EU', 'x')", "SQL_STATEMENT_REFUSED"),
        ("INSERT INTO delta.`{path}` VALUES (9, 'EU', 'x')", "SQL_STATEMENT_REFUSED"),
        ("INSERT OVERWRITE DIRECTORY '{path}/x' USING csv SELECT 1", "SQL_STATEMENT_REFUSED"),
        ("DELETE FROM orders", "SQL_STATEMENT_REFUSED"),
        ("UPDATE orders SET id = 1", "SQL_STATEMENT_REFUSED"),
        ("MERGE INTO orders o USING customers c ON o.id = c.id WHEN MATCHED THEN DELETE", "SQL_STATEMENT_REFUSED"),
        ("DROP TABLE orders", "SQL_STATEMENT_REFUSED"),
        ("ALTER TABLE orders SET TBLPROPERTIES (a = 'b')", "SQL_STATEMENT_REFUSED"),
        ("CREATE TABLE x (a INT)", "SQL_STATEMENT_REFUSED"),
        ("CREATE TABLE x USING delta LOCATION '{path}'", "SQL_STATEMENT_REFUSED"),
        ("CREATE VIEW x AS SELECT 1", "SQL_STATEMENT_REFUSED"),
        ("CREATE TEMPORARY VIEW x USING delta OPTIONS (path '{path}')", "SQL_STATEMENT_REFUSED"),
        ("CREATE FUNCTION f AS 'x.Y'", "SQL_STATEMENT_REFUSED"),
        ("ADD JAR /x.jar", "SQL_STATEMENT_REFUSED"),
        ("CACHE TABLE orders", "SQL_STATEMENT_REFUSED"),
        ("OPTIMIZE orders", "SQL_STATEMENT_REFUSED"),
        ("VACUUM delta.`{path}`", "SQL_STATEMENT_REFUSED"),
        ("EXPLAIN INSERT INTO orders VALUES (9, 'EU', 'x')", "SQL_STATEMENT_REFUSED"),
        ("EXECUTE IMMEDIATE 'SELECT 1'", "SQL_STATEMENT_REFUSED"),
        ("BEGIN SELECT 1; END", "SQL_STATEMENT_REFUSED"),
        ("SELECT TRANSFORM(id) USING 'cat' FROM orders", "SQL_STATEMENT_REFUSED"),
        ("SELECT reflect('java.lang.System', 'getenv', 'BOB')", "SQL_STATEMENT_REFUSED"),
        ("SELECT id FROM orders WHERE try_reflect('java.lang.System', 'exit', 1) = ''", "SQL_STATEMENT_REFUSED"),
        ("SELECT (SELECT java_method('java.lang.System', 'getenv', 'BOB'))", "SQL_STATEMENT_REFUSED"),
        ("SELECT IDENTIFIER('reflect')('java.lang.System', 'getenv', 'BOB')", "SQL_STATEMENT_REFUSED"),
        ("SELECT * FROM IDENTIFIER('delta.`{path}`')", "SQL_TABLE_NOT_SERVED"),
        ("SELECT * FROM IDENTIFIER(concat('shop.', 'orders'))", "SQL_STATEMENT_REFUSED"),
        ("SELECT * FROM customers VERSION AS OF 0", "SQL_STATEMENT_REFUSED"),
        ("SELECT * FROM table_changes('shop.customers', 0)", "SQL_STATEMENT_REFUSED"),
        ("SHOW CREATE TABLE customers", "SQL_STATEMENT_REFUSED"),
        ("DESCRIBE HISTORY customers", "SQL_STATEMENT_REFUSED"),
        ("SET spark.sql.variable.substitute=true", "SQL_SETTING_REFUSED"),
        ("SET spark.hadoop.fs.s3a.secret.key", "SQL_SETTING_REFUSED"),
        ("SELECT * FROM delta.`{path}`", "SQL_TABLE_NOT_SERVED"),
        ("SELECT * FROM parquet.`{path}`", "SQL_TABLE_NOT_SERVED"),
        ("SELECT * FROM shop.`customers@v0`", "SQL_TABLE_NOT_SERVED"),
        ("WITH x AS (SELECT * FROM delta.`{path}`) SELECT 1", "SQL_TABLE_NOT_SERVED"),
        ("SELECT 1 WHERE EXISTS (SELECT * FROM delta.`{path}`)", "SQL_TABLE_NOT_SERVED"),
        ("EXPLAIN SELECT * FROM delta.`{path}`", "SQL_TABLE_NOT_SERVED"),
        ("DESCRIBE delta.`{path}`", "SQL_TABLE_NOT_SERVED"),
        ("DESCRIBE QUERY SELECT * FROM text.`/etc/passwd`", "SQL_TABLE_NOT_SERVED"),
        ("SELECT * FROM secrets", "SQL_TABLE_NOT_SERVED"),
        ("SELECT * FROM nothing", "SQL_TABLE_NOT_SERVED"),
        ("SELEC 1", "PARSE_SYNTAX_ERROR"),
    ],
)
def test_what_is_no_query_of_served_tables_is_refused(endpoint: _Endpoint, statement: str, condition: str) -> None:
    path = endpoint.folder / ".penstock" / "tables" / "shop" / "customers"
    assert endpoint.refusal(statement.format(path=path)) == condition


def test_settings_of_a_connection_are_not_taken(endpoint: _Endpoint) -> None:
    asked = {"spark.sql.variable.substitute": "true", "set:spark.sql.variable.substitute": "true"}
    assert endpoint.rows("SELECT '${env:BOB}'", configuration=asked) == [("${env:BOB}",)]


def test_a_user_cannot_ask_as_another(endpoint: _Endpoint) -> None:
    with endpoint.connect() as connection:
        protocol = ttypes.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V6
        claimed = connection.client.OpenSession(ttypes.TOpenSessionReq(protocol, username="auditor"))
        assert claimed.status.statusCode == ttypes.TStatusCode.SUCCESS_STATUS
        statement = ttypes.TExecuteStatementReq(claimed.sessionHandle, "SELECT current_user()")
        handle = connection.client.ExecuteStatement(statement).operationHandle
        request = ttypes.TFetchResultsReq(handle, ttypes.TFetchOrientation.FETCH_NEXT, 1)
        [column] = connection.client.FetchResults(request).results.columns
        assert column.stringVal.values == ["ada"]
    with pytest.raises(OperationalError):
        endpoint.rows("SELECT current_user()", configuration={"hive.server2.proxy.user": "auditor"})


def test_a_wrong_password_is_refused_and_reported(endpoint: _Endpoint) -> None:
    for user, password in (("ada", "wrong"), ("nobody", "ada's"), ("bob", "")):
        with pytest.raises((TTransportException, OperationalError)):
            endpoint.connect(user, password)
    assert any("[SQL_LOGIN_FAILED]" in line and "nobody" in line for line in endpoint.stderr)
    document = json.loads(own_process("audit", endpoint.folder, "--json").expect(0).stdout)
    failed = [each["user_name"] for each in document["reads"] if each["arguments"].get("refused") == "SQL_LOGIN_FAILED"]
    assert failed == ["ada", "nobody"], "an empty password does not get that far"


def test_a_user_of_the_directory_logs_in_with_its_password(endpoint: _Endpoint) -> None:
    assert endpoint.rows("SELECT current_user(), count(*) FROM orders", "grace", "grace's") == [("grace", 6)]
    for user, password in (("grace", "ada's"), ("grace", ""), ("ada", "another ada's"), ("grace@elsewhere", "grace's")):
        with pytest.raises(TTransportException):
            endpoint.connect(user, password)
    endpoint.ldap.stop()
    try:
        with pytest.raises(TTransportException):
            endpoint.connect("grace", "grace's")
        assert endpoint.rows("SELECT 1") == [(1,)], "users of the file do not need the directory"
    finally:
        endpoint.ldap.start()
    assert any("[LDAP_UNAVAILABLE]" in line and endpoint.ldap.url in line for line in endpoint.stderr)
    assert endpoint.rows("SELECT 2", "grace", "grace's") == [(2,)]


def test_a_group_of_the_directory_is_a_role(endpoint: _Endpoint) -> None:
    assert endpoint.rows("SELECT count(*) FROM audits", "grace", "grace's") == [(6,)]
    assert endpoint.rows("SELECT count(*) FROM customers", "grace", "grace's") == [(6,)], "the filter knows the role"
    assert [row[1] for row in endpoint.rows("SHOW TABLES IN shop", "grace", "grace's")] == [
        "audits",
        "customers",
        "orders",
    ]
    for user, password in (("joe", "joe's"), ("ada", "ada's")):  # ada is the file's
        assert endpoint.refusal("SELECT count(*) FROM audits", user=user, password=password) == (
            "INSUFFICIENT_PERMISSIONS"
        )
    assert not any("grace's" in line or "joe's" in line for line in endpoint.stderr)


def test_metadata_calls_of_odbc_drivers_find_tables_by_schema(endpoint: _Endpoint) -> None:
    with endpoint.connect() as connection:
        assert sorted(row[0] for row in metadata(connection, "GetSchemas")) == ["default", "global_temp", "shop"]
        tables = metadata(connection, "GetTables", schemaName="shop", tableName="%")
        assert [row[1:4] for row in tables] == [["shop", "customers", "TABLE"], ["shop", "orders", "TABLE"]]
        columns = metadata(connection, "GetColumns", schemaName="shop", tableName="customers", columnName="%")
        assert [(row[3], row[5], row[11]) for row in columns] == [
            ("id", "BIGINT", "the key"),
            ("region", "STRING", ""),
            ("name", "STRING", ""),
        ]
        assert "BIGINT" in {row[0] for row in metadata(connection, "GetTypeInfo")}
        assert {row[0] for row in metadata(connection, "GetTableTypes")} == {"TABLE", "VIEW"}
        assert metadata(connection, "GetCatalogs") == []
        client = connection.client
        info = client.GetInfo(ttypes.TGetInfoReq(connection.sessionHandle, ttypes.TGetInfoType.CLI_DBMS_NAME))
        assert info.infoValue.stringValue == "Spark SQL"


@pytest.mark.parametrize(
    ("pattern", "tables"),
    [
        ("%", ["customers", "orders"]),
        (None, ["customers", "orders"]),
        ("o%", ["orders"]),
        ("order_", ["orders"]),
        ("order\\_", []),
        ("orders\\%", []),
    ],
)
def test_patterns_of_metadata_calls(endpoint: _Endpoint, pattern: str | None, tables: list[str]) -> None:
    with endpoint.connect() as connection:
        assert [row[2] for row in metadata(connection, "GetTables", schemaName="sho_", tableName=pattern)] == tables


def test_names_are_shown_and_described(endpoint: _Endpoint) -> None:
    assert [row[1] for row in endpoint.rows("SHOW TABLES IN shop")] == ["customers", "orders"]
    assert endpoint.rows("DESCRIBE customers")[0] == ("id", "bigint", "the key")
    assert endpoint.rows("SET -v") == [("spark.sql.session.timeZone", "UTC")]


def test_beeline_reads_over_jdbc(endpoint: _Endpoint) -> None:
    done = _beeline(endpoint.jdbc, "ada", "ada's", "SELECT id, name FROM customers ORDER BY id; DROP TABLE orders;")
    assert [line for line in done.stdout.splitlines() if line[:1].isdigit()] == ["2,p", "4,p", "6,p"]
    assert "[SQL_STATEMENT_REFUSED]" in done.stderr


def _beeline(url: str, user: str, password: str, script: str) -> subprocess.CompletedProcess[str]:
    java = [str(find_java().executable), "-XX:TieredStopAtLevel=1", "-cp", f"{SPARK_HOME}/jars/*"]
    options = ["-u", url, "-n", user, "-p", password, "--outputformat=csv2", "--showHeader=false", "-e", script]
    command = [*java, "org.apache.hive.beeline.BeeLine", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
def test_tls_with_a_keystore(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    both = authority.sign("server", "DNS:localhost,IP:127.0.0.1")
    keystore, trusted = tmp_path / "serve.p12", tmp_path / "trusted.p12"
    openssl = ["openssl", "pkcs12", "-export", "-in", str(both), "-out", str(keystore), "-passout", "pass:of the key"]
    keytool = [str(find_java().executable.parent / "keytool"), "-importcert", "-noprompt", "-alias", "authority"]
    keytool += ["-file", str(authority.certificate), "-keystore", str(trusted), "-storepass", "trusted"]
    for command in (openssl, keytool):
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    serve = {"port": 0, "keystore": "serve.p12", "keystore_password": "${env:KEYSTORE}"}
    serve["users"] = {"ada": "${env:ADA}"}
    (tmp_path / "penstock.yml").write_text(json.dumps({"name": "secured", "schema": "shop", "serve": serve}))
    (tmp_path / "pipeline.py").write_text("")
    with running("serve", tmp_path, environ={"KEYSTORE": "of the key", "ADA": "ada's"}) as server:
        assert server.process.stdout is not None
        found = re.search(r"127\.0\.0\.1:(\d+)/shop;ssl=true", server.process.stdout.readline())
        assert found is not None
        url = f"jdbc:hive2://127.0.0.1:{found[1]}/default"
        done = _beeline(
            f"{url};ssl=true;sslTrustStore={trusted};trustStorePassword=trusted", "ada", "ada's", "SELECT 7"
        )
        assert "7" in done.stdout.split(), done.stderr  # beeline prints dots while it waits
        assert "7" not in _beeline(url, "ada", "ada's", "SELECT 7").stdout.split(), "not without TLS"


def test_a_result_that_is_too_large_is_refused_not_cut(endpoint: _Endpoint) -> None:
    assert len(endpoint.rows("SELECT * FROM range(1000)")) == 1000
    assert endpoint.refusal("SELECT * FROM range(1001)") == "SQL_RESULT_TOO_LARGE"
    large = "array_join(transform(sequence(1, 60), x -> sha2(string(id * 1000 + x), 512)), '')"
    assert endpoint.refusal(f"SELECT {large} FROM range(1000)") == "SQL_RESULT_TOO_LARGE"


@pytest.mark.parametrize("limit", ["", " LIMIT 900"])
def test_what_compresses_well_is_bound_by_its_own_size(endpoint: _Endpoint, limit: str) -> None:
    assert endpoint.refusal(f"SELECT repeat('x', 1000000) FROM range(0, 1000, 1, 2){limit}") == "SQL_RESULT_TOO_LARGE"
    assert endpoint.rows("SELECT length(max(repeat('x', 1000000))) FROM range(1000)") == [(1_000_000,)]


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("SELECT id FROM range(0, 100, 1, 7) LIMIT 60", 60),
        ("SELECT id FROM range(0, 100, 1, 7) LIMIT 0", 0),
        ("SELECT id FROM range(0, 100, 1, 7) WHERE id > 97 LIMIT 5", 2),
        ("SELECT id FROM range(0, 100, 1, 7) LIMIT 60 OFFSET 50", 50),
        ("SELECT id FROM range(0, 100, 1, 7) ORDER BY id DESC LIMIT 10", 10),
        ("SELECT id % 3 FROM range(0, 100, 1, 7) GROUP BY 1 LIMIT 2", 2),
        ("SHOW TABLES LIKE 'o*'", 1),
    ],
)
def test_a_limit_returns_as_many_rows(endpoint: _Endpoint, statement: str, rows: int) -> None:
    assert len(endpoint.rows(statement)) == rows


@pytest.mark.parametrize(
    ("statement", "condition"),
    [
        ("SELECT repeat('x', 2000000000)", "SQL_OUT_OF_MEMORY"),
        ("SELECT repeat(string(id), 2000000000) FROM range(2)", "SQL_OUT_OF_MEMORY"),
        ("SELECT repeat(string(id), 150000000) FROM range(1)", "SQL_RESULT_TOO_LARGE"),
    ],
)
def test_one_huge_value_does_not_end_the_endpoint(endpoint: _Endpoint, statement: str, condition: str) -> None:
    assert endpoint.refusal(statement) == condition
    assert endpoint.rows("SELECT count(*) FROM orders") == [(6,)]


def test_many_values_that_fill_the_heap_do_not_end_the_endpoint(endpoint: _Endpoint) -> None:
    filling = "SELECT size(collect_list(repeat(string(id % 10), 20000000))) FROM range(0, 400, 1, 2)"
    assert endpoint.refusal(filling) in {"SQL_OUT_OF_MEMORY", "SQL_QUERY_TIMEOUT"}  # as fast as the machine is
    assert endpoint.rows("SELECT count(*) FROM orders") == [(6,)]


def test_a_query_that_takes_too_long_is_ended(endpoint: _Endpoint) -> None:
    assert endpoint.refusal(_SLOW) == "SQL_QUERY_TIMEOUT"
    assert endpoint.rows("SELECT count(*) FROM orders") == [(6,)]


def test_a_user_who_is_taken_out_loses_the_running_query_and_the_session(endpoint: _Endpoint) -> None:
    file = endpoint.folder / "penstock.yml"
    found: list[str] = []
    with endpoint.connect("bob", _BOB) as connection, connection.cursor() as cursor:

        def ask(statement: str) -> None:
            with pytest.raises(OperationalError) as caught:
                cursor.execute(statement)
            found.append(caught.value.args[0].status.errorMessage)

        asking = threading.Thread(target=ask, args=(_SLOW,))
        asking.start()
        endpoint.command.wait_for(lambda: state_of(endpoint.health)["running"] == 1, what="the query")
        file.write_text(_settings({name: secret for name, secret in _USERS.items() if name != "bob"}))
        try:
            asking.join(10)
            for statement in ("SELECT 1", "SHOW TABLES", "EXPLAIN SELECT * FROM customers"):
                ask(statement)
            for call in ("GetSchemas", "GetTables", "GetColumns"):
                with pytest.raises(OperationalError) as caught:
                    metadata(connection, call)
                found.append(caught.value.args[0].status.errorMessage)
        finally:
            file.write_text(_settings(_USERS))
    assert len(found) == 7
    assert all("[SQL_USER_REVOKED]" in message for message in found)


def test_the_health_page_counts_queries(endpoint: _Endpoint) -> None:
    before = state_of(endpoint.health)
    endpoint.rows("SELECT 1")
    after = state_of(endpoint.health)
    assert (after["status"], after["tables"], after["queries"]) == ("up", 3, before["queries"] + 1)


def test_each_query_is_recorded_with_its_user_and_rows(endpoint: _Endpoint) -> None:
    statement = "SELECT c.id FROM customers c JOIN orders o ON c.id = o.id"
    assert len(endpoint.rows(statement)) == 3
    reads = own_process("audit", endpoint.folder, "--json").expect(0)
    assert statement in reads.stdout
    [read] = [read for read in reads.document["reads"] if read["arguments"].get("statement") == statement]
    assert (read["user_name"], read["arguments"]["rows"]) == ("ada", 3)
    assert read["arguments"]["tables"] == ["shop.customers", "shop.orders"]


def test_an_interface_without_users_is_refused(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text(json.dumps({"name": "open", "serve": {"address": "0.0.0.0"}}))
    outcome = own_process("serve", tmp_path).expect(2)
    assert "[SERVE_USERS_MISSING]" in outcome.stderr


def test_a_table_with_a_path_that_is_declared_later_is_listed(endpoint: _Endpoint) -> None:
    pipeline = endpoint.folder / "pipeline.py"
    elsewhere = endpoint.folder / "elsewhere"
    declaration = f"""

@ps.materialized_view(path={str(elsewhere)!r})
def placed():
    return spark.range(3)
"""
    pipeline.write_text(_PIPELINE + declaration)
    own_process("run", endpoint.folder).expect(0)

    def is_listed() -> bool:
        return ("placed",) in [row[1:2] for row in endpoint.rows("SHOW TABLES IN shop")]

    endpoint.command.wait_for(is_listed, what="the new table")
    assert endpoint.rows("SELECT count(*) FROM placed") == [(3,)]


def test_the_endpoint_ends_when_it_is_asked_to(endpoint: _Endpoint) -> None:
    """The last test of the module."""
    started = time.monotonic()
    endpoint.command.process.terminate()
    assert endpoint.command.process.wait(30) == 0
    assert time.monotonic() - started < 30
