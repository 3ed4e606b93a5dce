"""A lent session: as new for each command, and without a trace in the session whose Spark it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession
from tests.integration.store_server import STORES
from tests.spark.session_settings import CHOSEN

from penstock.spark.session.launch import SessionConfig
from penstock.spark.session.lending import Lender
from penstock.spark.session.session import OtherSettingsError, start_session

CONFIG = SessionConfig(name="tests", master="local[2]", spark_conf=CHOSEN, jar_sets=STORES)


@pytest.fixture
def lender(spark: SparkSession) -> Iterator[Lender]:
    yield Lender(spark)
    assert SparkSession.builder.getOrCreate() is spark
    assert SparkSession.active()._jsparkSession.equals(spark._jsparkSession)


def test_a_command_finds_nothing_of_another_one(lender: Lender, spark: SparkSession) -> None:
    spark.range(5).limit(3).persist()
    with lender.lent():
        first = start_session(CONFIG)
        assert SparkSession.builder.getOrCreate() is first
        assert not first.range(5).limit(3).storageLevel.useMemory, "what the session has cached"
        first.range(1).createOrReplaceTempView("of_the_first")
        first.range(7).persist()
        first.conf.set("spark.sql.shuffle.partitions", "77")
        first.sql("CREATE TABLE of_the_first_too USING parquet AS SELECT 1 AS one")
        first.sql("CREATE DATABASE firsts")
        first.range(1).createOrReplaceGlobalTempView("global_one")
    lender.tidy()
    with lender.lent():
        second = start_session(CONFIG)
        assert second.catalog.listTables() == []
        assert not second.catalog.tableExists("global_temp.global_one")
        assert not second.catalog.databaseExists("firsts")
        assert not second.range(7).storageLevel.useMemory
        assert second.conf.get("spark.sql.shuffle.partitions") == CHOSEN["spark.sql.shuffle.partitions"]
    assert spark.range(5).limit(3).storageLevel.useMemory
    assert not spark.catalog.tableExists("of_the_first_too")
    assert not spark.catalog.databaseExists("firsts")
    spark.range(5).limit(3).unpersist()


def test_what_reads_tables_works_in_it(lender: Lender, spark: SparkSession, tmp_path: object) -> None:
    place = f"{tmp_path}/table"
    for count in (2, 3):
        spark.range(count).write.format("delta").mode("overwrite").save(place)
        with lender.lent():
            lent = start_session(CONFIG)
            assert lent.read.format("delta").load(place).count() == count
            assert lent.sql("SELECT pmod(7, 4) AS p").collect() == [(3,)]
        lender.tidy()


def test_other_settings_are_not_lent(lender: Lender) -> None:
    with pytest.raises(OtherSettingsError), lender.lent():
        start_session(replace(CONFIG, spark_conf={**CHOSEN, "spark.sql.ansi.enabled": "false"}))
