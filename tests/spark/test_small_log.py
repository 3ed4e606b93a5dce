"""The log of a small table, read in the driver, gives the state that Delta's Spark jobs give."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest
from deltalake import CommitProperties, Transaction, write_deltalake
from pyspark.sql import SparkSession

from penstock.spark import _jvm
from penstock.spark.streams.writes import append_to_table

pytestmark = pytest.mark.accelerated

_SAME = re.compile(r',"tags":\{\}|,"stats":"\{\\"numRecords\\":\d+\}"')
"""No tags, which Delta's parser of commits and Spark's write differently; the number of rows of a removed file, which
Delta leaves out of a checkpoint."""

_ROWS = "SELECT id, id % 3 AS part, concat('n', id) AS name FROM range({first}, {last})"
_CHANGES = {
    "append": f"INSERT INTO {{t}} {_ROWS}",
    "append more": f"INSERT INTO {{t}} {_ROWS}",
    "overwrite": f"INSERT OVERWRITE {{t}} {_ROWS}",
    "delete": "DELETE FROM {t} WHERE id % 7 = {some}",
    "delete a partition": "DELETE FROM {t} WHERE part = {some} % 3",
    "update": "UPDATE {t} SET name = 'x{first}' WHERE id % 5 = {some}",
    "merge": (
        "MERGE INTO {t} t USING (SELECT {first}L AS id, 0L AS part, 'm' AS name UNION SELECT {some}L, 1L, 'm') s"
        " ON s.id = t.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    ),
    "optimize": "OPTIMIZE {t}",
    "property": "ALTER TABLE {t} SET TBLPROPERTIES ('a{first}' = 'b')",
    "restore": "RESTORE {t} TO VERSION AS OF {version}",
}


def _log(spark: SparkSession, path: str) -> Any:
    return _jvm.jvm(spark).org.apache.spark.sql.delta.DeltaLog.forTable(_jvm.java_session(spark), path)


def _snapshot(spark: SparkSession, path: str) -> Any:
    return _log(spark, path).unsafeVolatileSnapshot()


def _looked_at(spark: SparkSession, path: str) -> Any:
    """Returns the newest snapshot, for which a query has been planned and nothing has run."""
    frame = spark.read.format("delta").load(path)
    frame._jdf.queryExecution().normalized()
    return _snapshot(spark, path)


def _assert_as_spark_finds_it(snapshot: Any) -> None:
    def rows(state: Any) -> list[str]:
        return sorted(_SAME.sub("", row) for row in state.toJSON().collectAsList())

    held, found = rows(snapshot.stateDS()), rows(snapshot.stateReconstruction())
    assert held == found


def _create(spark: SparkSession, path: str, random: Random) -> None:
    writer = spark.sql(_ROWS.format(first=0, last=20)).write.format("delta")
    writer = writer.option("delta.enableDeletionVectors", str(random.random() < 0.5).lower())
    (writer.partitionBy("part") if random.random() < 0.5 else writer).save(path)


@pytest.mark.parametrize("seed", [2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 40))])
def test_after_random_changes_it_is_the_state_that_spark_finds(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    random, path, first = Random(seed), str(tmp_path / "table"), 20
    _create(spark, path, random)
    for version in range(8):
        change = random.choice([*_CHANGES, "transaction", "another engine", "checkpoint", "unseen"])
        last = first + random.randint(1, 5)
        rows = spark.sql(_ROWS.format(first=first, last=last))
        if change == "transaction":
            append_to_table(rows, path, (f"orders/{random.randint(0, 1)}", version))
        elif change == "another engine" and "true" not in str(_snapshot(spark, path).metadata().configuration()):
            write_deltalake(path, rows.toArrow(), mode="append")
        elif change == "checkpoint":
            _log(spark, path).checkpoint()
        elif change in _CHANGES:
            newest = int(_snapshot(spark, path).version())
            values = {"first": first, "last": last, "some": random.randint(0, 4), "version": random.randint(0, newest)}
            spark.sql(_CHANGES[change].format(t=f"delta.`{path}`", **values))
        first = last
        if change != "unseen":
            _assert_as_spark_finds_it(_looked_at(spark, path))


def test_what_is_read_in_the_driver_needs_no_job(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    for number in range(3):
        spark.range(number, number + 1).coalesce(1).write.format("delta").mode("append").save(path)
        frame = spark.read.format("delta").load(path)
        spark.sparkContext.setJobGroup("small", "small")
        before = len(spark.sparkContext.statusTracker().getJobIdsForGroup("small"))
        assert len(frame.collect()) == number + 1
        assert len(spark.sparkContext.statusTracker().getJobIdsForGroup("small")) - before == 1
        spark.sparkContext.setJobGroup("", "")


def test_another_table_in_the_same_place_is_not_taken_for_it(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    spark.range(5).write.format("delta").save(path)
    spark.range(5).write.format("delta").mode("append").save(path)
    assert spark.read.format("delta").load(path).count() == 10
    shutil.rmtree(path)
    for _ in range(3):
        write_deltalake(path, spark.range(2).toArrow(), mode="append")
    assert spark.read.format("delta").load(path).count() == 6


def test_a_commit_that_is_another_one_than_it_was_is_read_again(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    spark.range(5).write.format("delta").save(path)
    spark.range(5, 7).write.format("delta").mode("append").save(path)
    assert spark.read.format("delta").load(path).count() == 7
    (Path(path) / "_delta_log/00000000000000000001.json").unlink()
    (Path(path) / "_delta_log/00000000000000000001.crc").unlink()
    for number in (1, 2):
        write_deltalake(path, spark.range(number).toArrow(), mode="append")
    _log(spark, path).update(False, *[_jvm.jvm(spark).scala.Option.empty()] * 2)
    _assert_as_spark_finds_it(_looked_at(spark, path))


def test_a_committed_batch_is_looked_up_in_the_log_and_not_in_a_checksum(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    append_to_table(spark.range(1), path, ("orders/bronze", 0))
    checksum = Path(path) / "_delta_log/00000000000000000000.crc"
    checksum.write_text(checksum.read_text().replace("orders/bronze", "orders/another"))
    checksum.with_name(f".{checksum.name}.crc").unlink(missing_ok=True)
    _log(spark, path).invalidateCache(_jvm.java_session(spark), _jvm.jvm(spark).org.apache.hadoop.fs.Path(path))
    assert spark.read.format("delta").load(path).count() == 1
    append_to_table(spark.range(1), path, ("orders/bronze", 0))
    assert spark.read.format("delta").load(path).count() == 1


def test_paths_that_are_not_relative_are_left_to_delta(spark: SparkSession, tmp_path: Path) -> None:
    source, clone = str(tmp_path / "source"), str(tmp_path / "clone")
    spark.range(3).write.format("delta").save(source)
    spark.sql(f"CREATE TABLE delta.`{clone}` SHALLOW CLONE delta.`{source}`")
    assert spark.read.format("delta").load(clone).count() == 3
    _assert_as_spark_finds_it(_snapshot(spark, clone))


def test_a_commit_of_another_engine_has_no_checksum_and_is_left_to_delta(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    spark.range(3).write.format("delta").option("delta.enableDeletionVectors", "false").save(path)
    properties = CommitProperties(app_transactions=[Transaction("orders/bronze", 2)])
    write_deltalake(path, spark.range(1).toArrow(), mode="append", commit_properties=properties)
    append_to_table(spark.range(1), path, ("orders/bronze", 2))
    assert spark.read.format("delta").load(path).count() == 4
    _assert_as_spark_finds_it(_snapshot(spark, path))
