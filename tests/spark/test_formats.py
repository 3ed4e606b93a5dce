"""Which formats a session has; that they are asked of Spark itself first, without a Python process to list others."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource

from penstock.spark import _jvm


class Weather(DataSource):
    """A data source in Python, of which only the name matters."""

    @classmethod
    def name(cls) -> str:
        return "weather"


def test_formats_of_spark_of_jars_and_of_python(spark: SparkSession) -> None:
    assert [_jvm.has_format(spark, name) for name in ("json", "delta", "weather")] == [True, True, False]
    spark.dataSource.register(Weather)
    assert _jvm.has_format(spark, "weather")


def test_only_an_unknown_format_starts_a_python_process(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def exists(name: str) -> bool:
        asked.append(name)
        return False

    conf = _jvm.java_session(spark).sessionState().conf()
    state = SimpleNamespace(conf=lambda: conf, dataSourceManager=lambda: SimpleNamespace(dataSourceExists=exists))
    monkeypatch.setattr(_jvm, "java_session", lambda _: SimpleNamespace(sessionState=lambda: state))
    assert _jvm.has_format(spark, "delta")
    assert asked == []
    assert not _jvm.has_format(spark, "nowhere")
    assert asked == ["nowhere"]
