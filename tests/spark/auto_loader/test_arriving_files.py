"""Which files a batch reads, and what is told of those that wait: the source that streams files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession
from tests.spark.auto_loader.conftest import Landing

from penstock.errors import DefinitionError
from penstock.spark import _jvm

Build = Callable[..., Landing]

_LONG_AGO = 1_600_000_000.0


def test_a_changed_file_is_read_again(landing: Build) -> None:
    it = landing(allowOverwrites="true", schemaHints="id INT")
    it.put_json("a b.json", [{"id": 1}])
    it.put_json("same.json", [{"id": 10}])
    it.run()
    it.put_json("a b.json", [{"id": 2}])
    it.run()
    assert it.rows("id") == [(1,), (10,), (2,)]
    older = it.put_json("a b.json", [{"id": 3}])
    os.utime(older, (_LONG_AGO, _LONG_AGO))
    it.run()
    it.run()
    assert it.rows("id") == [(1,), (10,), (2,), (3,)], "once each time, whatever the time says"


def test_a_changed_file_is_not_read_again_by_default(landing: Build) -> None:
    it = landing(schemaHints="id INT")
    it.put_json("1.json", [{"id": 1}])
    it.run()
    changed = it.put_json("1.json", [{"id": 2}])
    os.utime(changed, (time.time() + 60, time.time() + 60))
    it.run()
    assert it.rows("id") == [(1,)]


@pytest.mark.slow  # test_a_changed_file_is_read_again has those that came later
def test_existing_files_that_change_count_as_new(landing: Build) -> None:
    it = landing(allowOverwrites="true", includeExistingFiles="false", schemaHints="id INT")
    it.put_json("a b%.json", [{"id": 1}])
    it.put_json("same.json", [{"id": 10}])
    it.run()
    assert it.rows("id") == []
    changed = it.put_json("a b%.json", [{"id": 2}])
    os.utime(changed, (_LONG_AGO, _LONG_AGO))
    it.run()
    assert it.rows("id") == [(2,)]


def test_new_columns_of_a_changed_parquet_file_are_found(landing: Build) -> None:
    it = landing("parquet", allowOverwrites="true")
    file = it.files / "1.parquet"
    parquet.write_table(pa.table({"id": [1]}), file)
    it.run()
    parquet.write_table(pa.table({"id": [2], "more": ["x"]}), file)
    os.utime(file, (_LONG_AGO, _LONG_AGO))
    it.run()
    assert it.rows("id", "more") == [(1, None), (2, "x")]


def test_each_batch_tells_how_much_is_left(landing: Build) -> None:
    it = landing(maxFilesPerTrigger="2")
    for number in range(5):
        it.put(f"{number}.json", '{"id": 1}\n')
    it.run()
    assert it.outstanding == [(3, 30), (1, 10), (0, 0)]


def test_an_age_leaves_out_older_files(landing: Build) -> None:
    it = landing(maxFileAge="1h", schemaHints="id INT")
    it.put_json("1.json", [{"id": 1}])
    it.run()
    it.put("2.json", '{"id": 2}\n', modified=_LONG_AGO)
    it.run()
    assert it.rows("id") == [(1,)]


def test_a_stream_goes_on_with_what_has_arrived_and_what_is_in_its_checkpoint(landing: Build) -> None:
    """One query without end takes files as they come; the next one, of Spark's own source, reads no file twice."""
    it = landing(schema="id INT", maxFilesPerTrigger="2")
    it.put_json("1.json", [{"id": 1}])
    with it.streaming() as query:
        for number in range(2, 6):
            it.move_in(f"{number}.json", f'{{"id": {number}}}\n', modified=_LONG_AGO)
        query.processAllAvailable()
        assert it.rows() == [(number,) for number in range(1, 6)]
    it.put_json("6.json", [{"id": 6}])
    plain = it.spark.readStream.schema("id INT").option("maxFileAge", "36500d").name("orders_files")
    native = plain.json(str(it.files)).writeStream.format("delta")
    native.option("checkpointLocation", str(it.root / "checkpoint")).trigger(availableNow=True).start(
        str(it.root / "table")
    ).awaitTermination()
    it.run()
    assert it.rows() == [(number,) for number in range(1, 7)]


def test_a_session_of_somebody_else_is_told_that_it_cannot(landing: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(spark: SparkSession, name: str) -> bool:
        return False

    monkeypatch.setattr(_jvm, "has_format", lacks)
    it = landing()
    it.put_json("1.json", [{"id": 1}])
    it.run()
    assert it.rows("id") == [("1",)]
    it.options["cloudFiles.allowOverwrites"] = "true"
    with pytest.raises(DefinitionError) as refused:
        it.load()
    assert refused.value.condition == "AUTO_LOADER_UNSUPPORTED_OPTION"
    assert refused.value.facts["option"] == "cloudFiles.allowOverwrites"
