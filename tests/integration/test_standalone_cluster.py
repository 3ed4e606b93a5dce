"""Pipelines on a real cluster: nothing changes but the master's address, and the tables are the same."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import QueryBuilder
from tests.cli_runner import penstock
from tests.faults.held_requests import HeldRequests
from tests.integration.s3_server import S3Server
from tests.integration.spark_standalone import SparkStandalone
from tests.oracle.tables import assert_table
from tests.projects import orders_project

from penstock.storage.delta.table import open_delta_table
from penstock.storage.stores.settings import use_store_settings

_SECONDS = 500.0  # five JVMs share the cores of a small machine
_MODULE = "def with_tax(price):\n    return price * 2.0\n"
_PRICES = """
import penstock as ps
from pyspark.sql import functions as f

import pricing.rules


@ps.materialized_view
def prices():
    with_tax = f.udf(pricing.rules.with_tax, "double")
    module = f.lit(pricing.rules.__file__)
    return spark.range(4, numPartitions=2).select(with_tax("id").alias("price"), module.alias("module"))
"""
_IN_S3 = """
import dlt


@dlt.table(path="s3a://lake/orders")
def orders():
    return spark.readStream.schema("id LONG").json("in")
"""


@pytest.mark.timeout(1200)
def test_the_quickstart_gives_the_same_tables_on_two_workers(cluster: SparkStandalone, tmp_path: Path) -> None:
    """Beside it a table that executors compute with a module of the project."""
    project = orders_project(tmp_path / "orders", files=4)
    module = project.directory / "pricing/rules.py"
    module.parent.mkdir()
    module.write_text(_MODULE)
    (project.pipeline.parent / "prices.py").write_text(_PRICES)
    project.add_settings(f"  spark.executor.memory: 512m\nmaster: {cluster.url}")
    before = cluster.executors_started()
    penstock("run", project.directory, timeout=_SECONDS).expect(0)
    assert cluster.executors_started() - before >= 2
    project.assert_tables()
    assert_table(project.table("prices"), [{"price": 2.0 * n, "module": str(module)} for n in range(4)])


@pytest.mark.slow  # the setting itself: tests/unit/setup/test_defaults.py
@pytest.mark.timeout(1200)
def test_a_commit_in_s3_replaces_no_other(cluster: SparkStandalone, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "in").mkdir(parents=True)
    (project / "pipeline.py").write_text(_IN_S3)
    (project / "in/1.json").write_text('{"id": 1}\n')
    with S3Server(tmp_path) as s3, HeldRequests(s3.port) as requests:
        s3.bucket("lake")
        conf = {**s3.settings_at(requests.address), "spark.executor.memory": "512m"}
        conf |= {"spark.sql.shuffle.partitions": "2"}
        settings = f"name: shop\nmaster: {cluster.url}\nspark_conf: {json.dumps(conf)}\n"
        (project / "penstock.yml").write_text(settings)
        penstock("run", project, timeout=_SECONDS).expect(0)
        use_store_settings(s3.settings)
        try:
            query = QueryBuilder().register("rows", open_delta_table("s3a://lake/orders"))
            assert pa.table(query.execute("SELECT id FROM rows").read_all()).to_pylist() == [{"id": 1}]
        finally:
            use_store_settings(dict)
        commits = {
            f"/lake/{key}" for key in s3.keys("lake") if key.startswith("orders/_delta_log/0") and key.endswith(".json")
        }
        assert commits
        assert commits <= requests.conditional
