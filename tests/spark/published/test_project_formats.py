"""Projects in formats of others: an asset bundle, exported settings, what `spark-pipelines init` writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.pipelines.init_cli import init
from pyspark.sql import SparkSession
from tests.oracle.tables import assert_table, stored
from tests.spark.published.conftest import Published
from tests.spark.published.published_pipeline import PublishedPipeline


def test_asset_bundle(published: Published) -> None:
    pipeline = published("databricks_bundle")
    meters = [{"meter": f"m{n}", "wh": 250 * n} for n in range(12)]
    pipeline.csv("meters/1.csv", meters)
    pipeline.run()
    pipeline.check("meters", [{"meter": f"m{n}", "kwh": n / 4, "zone": "test"} for n in range(12)])


@pytest.mark.slow
def test_exported_settings(published: Published) -> None:
    pipeline = published("exported_settings")
    pipeline.run()
    stations = [
        {"id": n, "latitude": float(n * 17 % 120), "rain": float(n * 31 % 77)}
        for n in range(30)
        if n * 17 % 120 <= 90 and n % 5 != 3
    ]
    pipeline.check("driest", sorted(stations, key=lambda row: (row["rain"], row["id"]))[:3])
    pipeline.check("northernmost", sorted(stations, key=lambda row: (-row["latitude"], row["id"]))[:3])


def test_stock_spark_project(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    init("stock")
    PublishedPipeline(tmp_path / "stock", spark).run()
    storage = tmp_path / "stock" / "pipeline-storage"
    assert_table(stored(storage, "default", "example_python_materialized_view"), [{"id": n} for n in range(10)])
    doubled = [{"id": n} for n in range(10) if n % 2 == 0]
    assert_table(stored(storage, "default", "example_sql_materialized_view"), doubled)
