"""`penstock sql --engine duckdb`: the pipeline's tables in DuckDB, without a JVM."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.shallow_clone import shallow_clone
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.graph.identifier import Identifier
from penstock.graph.protection import ROW_FILTER
from penstock.observe.stored import duckdb_query
from penstock.storage import StorageLayout

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def write(project: Path, identifier: Identifier, rows: dict[str, Any], **more: Any) -> str:
    uri = StorageLayout(str(project / ".penstock")).table(identifier)
    Path(uri).mkdir(parents=True, exist_ok=True)
    write_deltalake(uri, pa.table(rows), mode="append", **more)
    return uri


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text("name: shop\ncatalog: main\nschema: sales\n")
    write(tmp_path, Identifier("sales", "orders"), {"id": [1, 2, 3], "amount": [10, 20, 30]})
    write(tmp_path, Identifier("sales", "orders", "bronze"), {"id": [1, 2, 9], "amount": [1, 2, 9]})
    write(tmp_path, Identifier("other sales", "a.b"), {"Select": ["x"], "at": [AT], "price": [Decimal("1.50")]})
    return tmp_path


def ask(project: Path, statement: str) -> Result:
    return CliRunner().invoke(app, ["sql", statement, str(project), "--engine", "duckdb", "--json"])


def rows(project: Path, statement: str) -> list[list[Any]]:
    result = ask(project, statement)
    assert result.exit_code == 0, result.output
    return [list(row.values()) for row in json.loads(result.stdout)]


def condition(project: Path, statement: str) -> str:
    result = ask(project, statement)
    assert result.exit_code != 0, result.output
    [error] = json.loads(result.stdout)["errors"]
    return str(error["condition"])


@pytest.mark.parametrize("large", [False, True], ids=["read whole", "read in part"])
@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT sum(amount) FROM orders", [[60]]),
        ("FROM Sales.ORDERS SELECT id WHERE amount > 15 ORDER BY id", [[2], [3]]),
        ("SELECT main.sales.orders.id FROM main.sales.orders ORDER BY 1 LIMIT 1", [[1]]),
        ("SELECT o.id, b.amount FROM orders o JOIN bronze.sales.orders b USING (id) ORDER BY 1", [[1, 1], [2, 2]]),
        ("SELECT count(*) FROM bronze.sales.orders, main.sales.orders, Orders, sales.orders x", [[81]]),
        ("WITH orders AS (SELECT * FROM orders WHERE id = 2) SELECT amount FROM orders", [[20]]),
        ("WITH none AS (SELECT 7 AS n), more AS (FROM none) SELECT n FROM more", [[7]]),
        ("SELECT id FROM orders WHERE id NOT IN (SELECT id FROM bronze.sales.orders)", [[3]]),
        ('SELECT "Select", "at", price FROM "other sales"."a.b"', [["x", "2026-01-02T03:04:05+00:00", "1.50"]]),
        ("SELECT column_name FROM (DESCRIBE orders)", [["id"], ["amount"]]),
        ("SELECT current_setting('TimeZone')", [["UTC"]]),
        ("SELECT id FROM orders WHERE false", []),
    ],
)
def test_tables_are_found_by_the_names_that_they_have(
    project: Path, statement: str, expected: list[list[Any]], large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if large:
        monkeypatch.setattr(duckdb_query, "_SMALL", 0)
    assert rows(project, statement) == expected


def test_deletion_vectors_and_mapped_columns_are_applied(project: Path) -> None:
    uri = write(project, Identifier("sales", "late"), {"id": [1, 2, 3]})
    DeltaTable(uri).delete("id = 2")
    assert rows(project, "SELECT id FROM late ORDER BY id") == [[1], [3]]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT count(*) FROM orders VERSION AS OF 0", [[3]]),
        (
            "SELECT o.id, orders.amount FROM orders JOIN sales.orders VERSION AS OF 0 o USING (id) ORDER BY 1",
            [[2, 20], [3, 30]],
        ),
        ("SELECT orders.id FROM main.sales.Orders FOR VERSION AS OF 0 ORDER BY 1 LIMIT 1", [[1]]),
        (
            "SELECT sum(n) FROM (SELECT count(*) n FROM orders TIMESTAMP AS OF '2999-01-01' UNION SELECT 10)",
            [[13]],
        ),
        ("SELECT count(*) FROM orders o AT (VERSION => 0), orders", [[9]]),
        ("SELECT count(*) FROM orders AT (TIMESTAMP => TIMESTAMP '2999-01-01 00:00:00')", [[3]]),
        ('SELECT "a.b"."Select" FROM "other sales"."a.b" VERSION AS OF 0', [["x"]]),
        ("SELECT 'orders VERSION AS OF 7' AS text", [["orders VERSION AS OF 7"]]),
        ("SELECT id FROM orders VERSION AS OF 0 WHERE id NOT IN (SELECT id FROM orders VERSION AS OF 2)", [[1]]),
    ],
)
def test_a_table_as_of_a_version_or_a_time(project: Path, statement: str, expected: list[list[Any]]) -> None:
    uri = StorageLayout(str(project / ".penstock")).table(Identifier("sales", "orders"))
    DeltaTable(uri).delete("id = 1")
    write(project, Identifier("sales", "orders"), {"id": [4], "amount": [40]})
    assert rows(project, statement) == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT * FROM orders VERSION AS OF 7", "TABLE_VERSION_NOT_FOUND"),
        ("SELECT * FROM orders VERSION AS OF 99999999999999999999", "TABLE_VERSION_NOT_FOUND"),
        ("SELECT * FROM orders VERSION AS OF 'one'", "DUCKDB_QUERY_FAILED"),
        ("SELECT * FROM orders TIMESTAMP AS OF 'yesterday'", "DUCKDB_QUERY_FAILED"),
        ("SELECT * FROM orders AT (TIMESTAMP => now())", "DUCKDB_QUERY_FAILED"),
        ("SELECT * FROM (FROM orders) VERSION AS OF 0", "DUCKDB_QUERY_FAILED"),
        ("SELECT * FROM nothing VERSION AS OF 0", "TABLE_NOT_FOUND"),
    ],
)
def test_a_version_that_is_not_there_is_refused(project: Path, statement: str, expected: str) -> None:
    assert condition(project, statement) == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT * FROM order_s", "TABLE_NOT_FOUND"),
        ("SELECT * FROM copper.sales.orders", "TABLE_NOT_FOUND"),
        ("SELECT nothing FROM orders", "DUCKDB_QUERY_FAILED"),
        ("SELEC 1", "DUCKDB_QUERY_FAILED"),
        ("SELECT * FROM read_csv('/etc/passwd')", "DUCKDB_QUERY_FAILED"),
        ("SELECT * FROM '/etc/passwd'", "TABLE_NOT_FOUND"),
        ("SELECT getenv('HOME')", "DUCKDB_QUERY_FAILED"),
        ("SELECT * FROM delta", "TABLE_NOT_FOUND"),  # a variable of this program
        ("COPY (SELECT 1) TO 'a.csv'", "DUCKDB_STATEMENT_REFUSED"),
        ("DROP TABLE orders", "DUCKDB_STATEMENT_REFUSED"),
        ("SET lock_configuration = false", "DUCKDB_STATEMENT_REFUSED"),
        ("SELECT 1; SELECT 2", "DUCKDB_STATEMENT_REFUSED"),
        ("", "DUCKDB_STATEMENT_REFUSED"),
    ],
)
def test_anything_but_a_query_of_the_tables_is_refused(project: Path, statement: str, expected: str) -> None:
    assert condition(project, statement) == expected


def test_a_protected_table_is_refused(project: Path) -> None:
    table = DeltaTable(StorageLayout(str(project / ".penstock")).table(Identifier("sales", "orders")))
    table.alter.set_table_properties({ROW_FILTER: "mine(id)"}, raise_if_not_exists=False)
    assert condition(project, "SELECT count(*) FROM orders") == "TABLE_IS_PROTECTED"
    assert rows(project, "SELECT count(*) FROM bronze.sales.orders") == [[3]]


@pytest.mark.parametrize("large", [False, True], ids=["read whole", "read in part"])
def test_a_missing_data_file_is_named(project: Path, large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_query, "_SMALL", 0 if large else duckdb_query._SMALL)
    folder = Path(StorageLayout(str(project / ".penstock")).table(Identifier("sales", "orders")))
    next(folder.glob("*.parquet")).unlink()
    assert condition(project, "SELECT sum(amount) FROM orders") == "DATA_FILES_MISSING"


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
def test_a_shallow_clone_has_the_rows_of_its_source(
    project: Path, tmp_path_factory: pytest.TempPathFactory, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duckdb_query, "_SMALL", 0 if large else duckdb_query._SMALL)
    source = tmp_path_factory.mktemp("old") / "tables of 2025"
    source.mkdir()
    write_deltalake(str(source), pa.table({"id": [7, 8], "p": ["a b", "ü%"]}), partition_by=["p"])
    place = StorageLayout(str(project / ".penstock")).table(Identifier("sales", "clone"))
    shallow_clone(str(source), place)
    write(project, Identifier("sales", "clone"), {"id": [9], "p": ["c"]})
    assert rows(project, "SELECT id, p FROM clone ORDER BY id") == [[7, "a b"], [8, "ü%"], [9, "c"]]
    shown = CliRunner().invoke(app, ["show", "clone", str(project), "--json"])
    assert sorted(row["id"] for row in json.loads(shown.stdout)) == [7, 8, 9]
    next(source.glob("*/*.parquet")).unlink()
    assert condition(project, "FROM clone") == "DATA_FILES_MISSING"
    DeltaTable(place).alter.set_table_properties({ROW_FILTER: "mine(id)"}, raise_if_not_exists=False)
    assert condition(project, "FROM clone") == "TABLE_IS_PROTECTED"


def test_a_shallow_clone_of_a_table_in_another_store_is_refused(project: Path) -> None:
    layout = StorageLayout(str(project / ".penstock"))
    source, clone = layout.table(Identifier("sales", "orders")), layout.table(Identifier("sales", "clone"))
    shallow_clone(source, clone, named="s3a://lake/orders")
    assert condition(project, "FROM clone") == "TABLE_IN_ANOTHER_STORE"
    write(project, Identifier("sales", "clone"), {"id": [9], "amount": [90]}, schema_mode="merge")
    assert condition(project, "SELECT count(*) FROM clone") == "TABLE_IN_ANOTHER_STORE"


def test_who_read_what_is_in_the_audit(project: Path) -> None:
    rows(project, "SELECT o.id FROM orders o, bronze.sales.orders")
    result = CliRunner().invoke(app, ["audit", str(project), "--json"])
    [read] = json.loads(result.stdout)["reads"]
    assert (read["arguments"]["command"], read["arguments"]["rows"]) == ("sql", 9)
    assert sorted(read["arguments"]["tables"]) == ["bronze.sales.orders", "sales.orders"]


def test_without_duckdb_the_command_says_how_to_get_it(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert condition(project, "SELECT 1") == "DUCKDB_NOT_INSTALLED"


@pytest.mark.parametrize("small", [0, duckdb_query._SMALL], ids=["read in part", "read whole"])
def test_no_jvm_and_no_pandas_is_waited_for(project: Path, small: int) -> None:
    loaded = f"from penstock.observe.stored import duckdb_query; duckdb_query._SMALL = {small}; "
    loaded += "import sys; from penstock.cli.main import app; app(sys.argv[1:], standalone_mode=False); "
    loaded += "print([name for name in ('numpy', 'pandas', 'pyspark', 'py4j') if name in sys.modules])"
    command = [
        sys.executable,
        "-c",
        loaded,
        "sql",
        "SELECT id FROM orders WHERE amount > 15",
        str(project),
        "--engine",
        "duckdb",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
