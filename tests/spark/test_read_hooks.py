"""Reads of a pipeline reach its handler, and what the handler itself reads reaches PySpark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.spark.reading.hooks import install_read_hooks
from penstock.spark.reading.read_handler import handling_reads
from penstock.spark.sources.option import Secret, no_secret
from penstock.spark.sources.stream_read import Load, StreamRead


@dataclass
class _Handler:
    """Notes how it is called, and does with PySpark what is hooked."""

    files: str
    calls: list[str] = field(default_factory=list)
    secret: Secret = no_secret

    def table(
        self,
        spark: SparkSession,
        name: str,
        *,
        streaming: bool,
        options: Mapping[str, str],
        source_name: str | None = None,
    ) -> DataFrame | None:
        self._note(spark, f"table {name}")
        return spark.readStream.format("rate").name(name).load() if streaming else spark.range(2).toDF(name)

    def stream(self, spark: SparkSession, read: StreamRead, load: Load) -> DataFrame:
        self._note(spark, f"stream {read.format} {read.path} {read.name}")
        return load(read.name or "source", {})

    def batch(self, spark: SparkSession, read: StreamRead) -> DataFrame | None:
        self._note(spark, f"batch {read.format} {read.path}")
        return None

    def path(self, path: str, *, batch: bool) -> str:
        self.calls.append(f"path {path}")
        return self.files

    def statement(self, spark: SparkSession, statement: str, execute: Callable[[str], DataFrame]) -> DataFrame:
        self._note(spark, f"statement {statement}")
        return execute(statement)

    def action(self, method: str) -> None:
        self.calls.append(f"action {method}")

    def _note(self, spark: SparkSession, call: str) -> None:
        self.calls.append(call)
        spark.read.option("path", self.files).format("parquet").load().collect()
        spark.readStream.schema("id BIGINT").name("own").parquet(self.files)
        spark.sql("SELECT 1").createOrReplaceTempView("one")
        assert spark.table("one").count() == 1


@pytest.fixture
def handler(spark: SparkSession, tmp_path: object) -> Iterator[_Handler]:
    install_read_hooks()
    handler = _Handler(f"{tmp_path}/files")
    spark.range(3).write.parquet(handler.files)
    with handling_reads(handler):
        yield handler


def test_own_reads_of_a_handler_are_not_hooked(spark: SparkSession, handler: _Handler) -> None:
    assert spark.table("a").columns == ["a"]
    assert spark.read.table("b").columns == ["b"]
    assert spark.sql("SELECT 2 AS c").columns == ["c"]
    assert spark.readStream.schema("id BIGINT").name("mine").json("d").columns == ["id"]
    assert spark.readStream.load("e", "parquet", "id BIGINT").isStreaming
    assert spark.readStream.table("rates").isStreaming
    assert len(spark.read.load("f").collect()) == 3
    assert handler.calls == [
        "table a",
        "table b",
        "statement SELECT 2 AS c",
        *("path d", f"stream json {handler.files} mine"),
        *("path e", f"stream parquet {handler.files} None"),
        "table rates",
        *("batch parquet f", "path f"),
        "action collect",
    ]
