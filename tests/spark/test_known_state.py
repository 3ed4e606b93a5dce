"""The state of a table that its checksum gives is what Delta would find in the log, and saves it the look."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from penstock.spark import _jvm
from penstock.spark.accelerators.known_transactions import remember_transactions
from penstock.spark.streams.writes import append_to_table

pytestmark = pytest.mark.accelerated

_REMOVES = "numOfRemoves"
_ARRAY = re.compile(r"\[J@\w+|Vector|List")  # how a value is held


def _log(spark: SparkSession, path: str) -> Any:
    return _jvm.jvm(spark).org.apache.spark.sql.delta.DeltaLog.forTable(_jvm.java_session(spark), path)


def _is_computed(spark: SparkSession, path: str) -> bool:
    return bool(_log(spark, path).unsafeVolatileSnapshot()._computedStateTriggered())


def _state(spark: SparkSession, path: str) -> dict[str, str]:
    state = _log(spark, path).unsafeVolatileSnapshot().computedState()
    names = [str(name) for name in _jvm.scala_seq(state.productElementNames().toList())]
    values = (_ARRAY.sub("", str(state.productElement(place))) for place in range(len(names)))
    return {name: value for name, value in zip(names, values, strict=True) if name != _REMOVES}


def _state_of_the_log(spark: SparkSession, path: str) -> dict[str, str]:
    hadoop = _jvm.jvm(spark).org.apache.hadoop.fs.Path(path)
    _log(spark, path).invalidateCache(_jvm.java_session(spark), hadoop)
    return _state(spark, path)


def _looks(spark: SparkSession) -> set[int]:
    """Returns those of Spark's last jobs with which Delta has computed the state of a table."""
    jobs = _jvm.scala_seq(spark.sparkContext._jsc.sc().statusStore().jobsList(None))
    return {int(job.jobId()) for job in jobs if "Compute snapshot" in str(job.description())}


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path) -> str:
    path = str(tmp_path / "table")
    spark.range(10).write.format("delta").option("delta.enableDeletionVectors", "true").save(path)
    return path


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO {t} VALUES (10)",
        "INSERT OVERWRITE {t} VALUES (1)",
        "DELETE FROM {t} WHERE id = 3",
        "UPDATE {t} SET id = 77 WHERE id = 3",
        "MERGE INTO {t} t USING (SELECT 4L AS id) s ON s.id = t.id WHEN MATCHED THEN UPDATE SET id = 78",
        "ALTER TABLE {t} CLUSTER BY (id)",
        "ALTER TABLE {t} ADD COLUMN name STRING",
        "OPTIMIZE {t}",
    ],
)
def test_after_each_change_it_is_that_of_the_log(spark: SparkSession, path: str, change: str) -> None:
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 9")
    spark.sql(change.format(t=f"delta.`{path}`"))
    spark.read.format("delta").load(path).collect()
    found = _state(spark, path)
    assert found == _state_of_the_log(spark, path)


def test_reads_and_changes_need_not_look_through_the_log(spark: SparkSession, path: str) -> None:
    table, before = f"delta.`{path}`", _looks(spark)
    for number in range(3):
        spark.range(10).write.format("delta").mode("overwrite").save(path)
        assert spark.read.format("delta").load(path).count() == 10
        spark.sql(f"DELETE FROM {table} WHERE id = {number}")
        spark.sql(f"MERGE INTO {table} t USING {table} s ON s.id = t.id + 1 WHEN MATCHED THEN DELETE")
        assert _looks(spark) <= before
    (Path(path) / "_delta_log/00000000000000000009.crc").unlink()
    _log(spark, path).invalidateCache(_jvm.java_session(spark), _jvm.jvm(spark).org.apache.hadoop.fs.Path(path))
    spark.read.format("delta").load(path).collect()
    assert _looks(spark) - before, "without a checksum Delta looks"


def test_a_streams_table_is_read_without_a_look_once_its_batch_is_known(spark: SparkSession, path: str) -> None:
    append_to_table(spark.range(1), path, ("orders/bronze", 0))
    assert remember_transactions(spark, path)
    spark.read.format("delta").load(path).collect()
    assert _is_computed(spark, path)
    assert _state(spark, path) == _state_of_the_log(spark, path)


def test_what_a_stream_has_committed_is_never_asked_of_a_checksum(spark: SparkSession, tmp_path: Path) -> None:
    """A log of megabytes is not read in the driver; after a restart Spark reads it."""
    large = str(tmp_path / "large")
    spark.range(1).write.format("delta").option("userMetadata", "x" * (5 << 20)).save(large)
    append_to_table(spark.range(1), large, ("orders/bronze", 0))
    spark.read.format("delta").load(large)._jdf.queryExecution().normalized()
    assert not _is_computed(spark, large)


def test_a_commit_of_another_engine_is_looked_at(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    spark.range(10).write.format("delta").option("delta.enableDeletionVectors", "false").save(path)
    write_deltalake(path, spark.range(5).toArrow(), mode="append")
    assert spark.read.format("delta").load(path).count() == 15
    assert _state(spark, path)["numOfFiles"] == _state_of_the_log(spark, path)["numOfFiles"]


@pytest.mark.parametrize("content", ["", "{", '{"tableSizeBytes": 1}'])
def test_a_checksum_that_cannot_be_read_is_left_out(spark: SparkSession, path: str, content: str) -> None:
    (Path(path) / "_delta_log/00000000000000000000.crc").write_text(content)
    (Path(path) / "_delta_log/.00000000000000000000.crc.crc").unlink(missing_ok=True)
    _log(spark, path).invalidateCache(_jvm.java_session(spark), _jvm.jvm(spark).org.apache.hadoop.fs.Path(path))
    assert spark.read.format("delta").load(path).count() == 10
    spark.range(3).write.format("delta").mode("overwrite").save(path)
    assert spark.read.format("delta").load(path).count() == 3
