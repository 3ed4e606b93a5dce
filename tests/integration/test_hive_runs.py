"""Runs beside a real Hive Metastore: what a plain Spark session finds by name, also when the metastore was away."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli_runner import penstock
from tests.integration.hive_metastore import HiveMetastoreServer
from tests.integration.plain_spark import plain_spark
from tests.unity_server import UnityServer

pytestmark = pytest.mark.usefixtures("one_process")

_PIPELINE = """
import dlt


@dlt.table(comment="One row an order", schema="id LONG COMMENT 'its number', amount DOUBLE")
def orders():
    return spark.readStream.schema("id LONG, amount DOUBLE").json("in")


@dlt.table
def totals():
    return spark.read.table("orders").groupBy().sum("amount").toDF("total")


@dlt.table(private=True)
def hidden():
    return spark.read.table("orders")
"""
_READER = """
import json

[uri] = arguments
spark = builder.master("local[1]").config("spark.hadoop.hive.metastore.uris", uri).enableHiveSupport().getOrCreate()
found = {
    "tables": [row.tableName for row in spark.sql("SHOW TABLES IN shop").collect()],
    "total": spark.table("shop.totals").first()[0],
    "columns": [(field.name, field.dataType.simpleString()) for field in spark.table("shop.orders").schema],
    "ids": sorted(row.id for row in spark.sql("SELECT id FROM shop.orders").collect()),
    "described": {row[0]: row[1] for row in spark.sql("DESCRIBE TABLE EXTENDED shop.orders").collect()},
}
print("FOUND", json.dumps(found))
"""


@pytest.fixture
def metastore(tmp_path: Path) -> Iterator[HiveMetastoreServer]:
    with HiveMetastoreServer(tmp_path / "metastore") as server:
        yield server


@pytest.fixture
def project(metastore: HiveMetastoreServer, tmp_path: Path) -> Path:
    where = tmp_path / "project"
    (where / "in").mkdir(parents=True)
    (where / "penstock.yml").write_text(
        f"name: shop\nschema: shop\ncatalogs:\n  warehouse: {{type: hive, uri: '{metastore.uri}'}}\n"
    )
    (where / "pipeline.py").write_text(_PIPELINE)
    _arrive(where, 1, 2)
    return where


def _arrive(where: Path, *ids: int) -> None:
    (where / "in" / f"{ids[0]}.json").write_text("".join(f'{{"id": {each}, "amount": {each}.5}}\n' for each in ids))


def _registrations(where: Path) -> list[tuple[str, str, str | None]]:
    found = []
    for each in penstock("events", where, "--json", "--count", "0").expect(0).lines:
        if each["event_type"] != "table_registration":
            continue
        details = json.loads(each["details"])["table_registration"]
        error = each.get("error") or {}
        found.append((details["dataset"], details["action"], error.get("condition") if error else None))
    return found


def _read_by_plain_spark(metastore: HiveMetastoreServer) -> dict[str, Any]:
    command = plain_spark(_READER, metastore.uri)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    lines = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
    assert lines, done.stderr[-3000:]
    return dict(json.loads(lines[0].removeprefix("FOUND ")))


def test_a_plain_spark_reads_the_tables_by_name(metastore: HiveMetastoreServer, project: Path) -> None:
    metastore.stop()  # away at the start, and until the run is over
    penstock("run", project, "--json").expect(0)
    assert [each for each in _registrations(project) if each[1] != "FAILED"] == []
    away = penstock("doctor", project, "--json")
    assert "CATALOG_NOT_REACHABLE" in [each["condition"] for each in away.document["findings"]]

    metastore.start()
    drift = penstock("doctor", project, "--json").document["findings"]
    assert [each["condition"] for each in drift].count("REGISTRATION_OUTDATED") == 2
    _arrive(project, 3)
    penstock("run", project, "--json").expect(0)
    created = {dataset for dataset, action, _ in _registrations(project) if action == "CREATED"}
    assert created == {"shop.orders", "shop.totals"}
    assert "REGISTRATION_OUTDATED" not in penstock("doctor", project, "--json").stdout

    found = _read_by_plain_spark(metastore)
    assert (found["tables"], found["total"], found["ids"]) == (["orders", "totals"], 7.5, [1, 2, 3])
    assert found["columns"] == [["id", "bigint"], ["amount", "double"]]
    assert found["described"]["Comment"] == "One row an order"

    before = len(_registrations(project))
    (project / "pipeline.py").write_text(_PIPELINE.replace("def totals", "def sums"))
    penstock("run", project, "--json").expect(0)
    assert {each[:2] for each in _registrations(project)[before:]} == {
        ("shop.sums", "CREATED"),
        ("shop.totals", "DEACTIVATED"),
    }


def test_runs_register_in_unity_catalog(project: Path) -> None:
    """The same, beside a second catalog of another kind."""
    with UnityServer(token="t0ken") as unity:
        (project / "token").write_text("old")
        file = project / "penstock.yml"
        lake = f"  lake: {{type: unity, uri: '{unity.uri}', token: '${{file:token}}'}}\n"
        file.write_text(file.read_text() + lake)
        penstock("run", project, "--json").expect(0)
        refused = [condition for _, action, condition in _registrations(project) if action == "FAILED"]
        assert refused == ["CATALOG_NOT_REACHABLE"]
        (project / "token").write_text("t0ken")
        penstock("run", project, "--json").expect(0)
        assert unity.tables.keys() == {("main", "shop", "orders"), ("main", "shop", "totals")}
        assert penstock("doctor", project, "--json").document["findings"] == []
        (project / "pipeline.py").write_text(_PIPELINE.replace("def totals", "def sums"))
        penstock("drop", "totals", project, "--yes").expect(0)
        assert unity.tables.keys() == {("main", "shop", "orders")}
