"""Penstock's own connectors pass the tests that it gives to others; those with a server stand beside its tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from tests.oracle.tables import read_table

from penstock.testing.connectors import RateLimitConformance, SinkConformance

pytestmark = pytest.mark.usefixtures("spark")


class Files(RateLimitConformance):
    """A folder of JSON."""

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.path = tmp_path / "in"
        self.path.mkdir()

    def put(self, ids: Iterable[int]) -> None:
        number = len(list(self.path.iterdir()))
        text = "".join(json.dumps({"id": each, "note": f"n{each}"}) + "\n" for each in ids)
        hidden = self.path.parent / "arriving"
        hidden.write_text(text, encoding="utf-8")
        hidden.rename(self.path / f"{number:03}.json")


@pytest.mark.slow  # as Auto Loader
class TestFiles(Files):
    format = "json"
    unknown = None

    def options(self) -> Mapping[str, str]:
        return {"path": str(self.path)}

    def schema(self) -> str:
        return "id BIGINT, note STRING"

    def two_rows(self) -> Mapping[str, str]:
        return {"maxFilesPerTrigger": "1"}


@pytest.mark.slow  # test_sqlite.py passes the same tests; tests/spark/auto_loader tell of restarts and limits
class TestAutoLoader(Files):
    format = "cloudFiles"
    unknown = "cloudFiles.noSuchOption"

    def options(self) -> Mapping[str, str]:
        return {"path": str(self.path), "cloudFiles.format": "json", "cloudFiles.inferColumnTypes": "true"}

    def two_rows(self) -> Mapping[str, str]:
        return {"cloudFiles.maxFilesPerTrigger": "1"}


@pytest.mark.slow  # what a restart and a crash do to it, tests/spark/runtime and tests/faults tell of every table
class TestDelta(RateLimitConformance):
    format = "delta"
    unknown = None

    @pytest.fixture(autouse=True)
    def table(self, spark: SparkSession, tmp_path: Path) -> None:
        self.spark, self.path = spark, str(tmp_path / "table")
        self.put([])

    def options(self) -> Mapping[str, str]:
        return {"path": self.path}

    def put(self, ids: Iterable[int]) -> None:
        rows = self.spark.createDataFrame([(each,) for each in ids], "id BIGINT").coalesce(1)
        rows.write.format("delta").mode("append").save(self.path)

    def two_rows(self) -> Mapping[str, str]:
        return {"maxFilesPerTrigger": "1"}


@pytest.mark.slow  # as TestDelta
class TestDeltaSink(SinkConformance):
    format = "delta"
    checks_options = False

    @pytest.fixture(autouse=True)
    def table(self, tmp_path: Path) -> None:
        self.path = tmp_path / "out"

    def options(self) -> Mapping[str, str]:
        return {"path": str(self.path)}

    def stored(self) -> list[int]:
        if not DeltaTable.is_deltatable(str(self.path)):
            return []
        return [int(row["id"]) for row in read_table(self.path)]


@pytest.mark.slow  # test_sqlite.py passes the same tests; test_file_sinks.py repeats batches of this sink
class TestFileSink(SinkConformance):
    format = "json"
    checks_options = False

    @pytest.fixture(autouse=True)
    def folder(self, spark: SparkSession, tmp_path: Path) -> None:
        self.spark, self.path = spark, tmp_path / "out"

    def options(self) -> Mapping[str, str]:
        return {"path": str(self.path)}

    def stored(self) -> list[int]:
        if not list(self.path.glob("_spark_metadata/[0-9]*")):
            return []
        return [row["id"] for row in self.spark.read.schema("id BIGINT").json(str(self.path)).collect()]
