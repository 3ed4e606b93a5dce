"""A batch that was planned and not committed is finished by the next start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from penstock.spark.streams.earlier_batches import repair_offset_log


def run(spark: SparkSession, root: Path, *, fails: bool = False) -> None:
    lines = spark.readStream.name("lines").format("text").load(str(root / "in"))
    if fails:
        lines = lines.where("value <> 'b' OR raise_error('sentinel')")
    query = lines.writeStream.format("delta").option("checkpointLocation", str(root / "checkpoint"))
    query.trigger(availableNow=True).start(str(root / "table")).awaitTermination()


def test_the_unfinished_batch_is_finished_with_its_own_rows(spark: SparkSession, tmp_path: Path) -> None:
    checkpoint = str(tmp_path / "checkpoint")
    (tmp_path / "in").mkdir()
    assert not repair_offset_log(checkpoint, 2), "no checkpoint yet"
    (tmp_path / "in" / "1").write_text("a\n")
    run(spark, tmp_path)
    assert not repair_offset_log(checkpoint, 2), "every batch is committed"
    (tmp_path / "in" / "2").write_text("b\n")
    with pytest.raises(StreamingQueryException):
        run(spark, tmp_path, fails=True)
    with pytest.raises(StreamingQueryException, match=r"None\.get"):  # when this passes, the repair can go
        run(spark, tmp_path)
    planned = (tmp_path / "checkpoint" / "offsets" / "1").read_text().splitlines()
    assert repair_offset_log(checkpoint, 2)
    assert not repair_offset_log(checkpoint, 2), "the second call changes nothing"
    repaired = (tmp_path / "checkpoint" / "offsets" / "1").read_text().splitlines()
    assert repaired[2:] == planned[2:]
    assert json.loads(repaired[1])["conf"].pop("spark.sql.shuffle.partitions") == "2"
    run(spark, tmp_path)
    rows = spark.read.format("delta").load(str(tmp_path / "table")).collect()
    assert sorted(row.value for row in rows) == ["a", "b"]
