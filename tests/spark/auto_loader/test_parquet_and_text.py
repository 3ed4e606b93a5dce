"""Parquet and text."""

from __future__ import annotations

import os
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame
from tests.spark.auto_loader.conftest import Landing

from penstock.errors import DataError
from penstock.spark.sources.auto_loader.inference import inspection as schema_inspection

Build = Callable[..., Landing]


def put_parquet(it: Landing, file: str, /, **columns: list[object]) -> None:
    pq.write_table(pa.table(columns), it.files / file)


def test_parquet_keeps_its_types_and_takes_in_new_columns(landing: Build) -> None:
    it = landing("parquet")
    put_parquet(it, "1.parquet", id=[1, 2])
    it.run()
    put_parquet(it, "2.parquet", id=[3], name=["c"])
    it.run()
    assert it.rows("id", "name", "_rescued_data") == [(1, None, None), (2, None, None), (3, "c", None)]


@pytest.mark.parametrize("most_paths", [10_000, 0])
def test_a_file_that_arrives_after_the_start_stops_the_batch_and_is_looked_at(
    landing: Build, monkeypatch: pytest.MonkeyPatch, most_paths: int
) -> None:
    monkeypatch.setattr(schema_inspection, "_MOST_PATHS", most_paths)
    it = landing("parquet")
    put_parquet(it, "1.parquet", id=[1])
    frame, source = it.load()
    put_parquet(it, "2.parquet", id=[2], name=["b"])
    if most_paths:  # as one that was written long ago and is moved in now
        os.utime(it.files / "2.parquet", (1, 1))
    options = {"checkpointLocation": str(it.root / "checkpoint"), "mergeSchema": "true"}
    writer = frame.writeStream.format("delta").options(**options).trigger(availableNow=True)
    query = writer.start(str(it.root / "table"))
    with pytest.raises(Exception, match="STREAM_FAILED") as failure:
        query.awaitTermination()
    assert source.evolve(it.spark, failure.value, options["checkpointLocation"]) is not None
    it.run()
    assert it.rows("id", "name") == [(1, None), (2, "b")]


def test_a_file_that_was_looked_at_before_it_was_whole_is_looked_at_again(landing: Build) -> None:
    it = landing("xml", schemaHints="id INT")
    it.options["rowTag"] = "row"
    it.put("1.xml", "<row><id>1</id></row>\n")
    it.run()
    growing = it.put("2.xml", "<row><id>2</id></row>\n")

    def grow(frame: DataFrame) -> DataFrame:  # after the look and before the batch
        if "more" not in growing.read_text():
            growing.write_text("<row><id>2</id></row>\n<row><id>3</id><more>x</more></row>\n")
        return frame

    it.transform = grow
    it.run()
    assert it.rows("id", "more") == [(1, None), (2, None), (3, "x")]


def test_a_file_that_arrives_between_the_first_look_and_the_start_is_looked_at(landing: Build) -> None:
    it = landing("parquet")
    put_parquet(it, "1.parquet", id=[1])
    it.load(persist=False)
    put_parquet(it, "2.parquet", id=[2], name=["b"])
    it.run()
    assert it.rows("id", "name") == [(1, None), (2, "b")]


def test_parquet_rescues_unknown_columns(landing: Build) -> None:
    it = landing("parquet", schemaEvolutionMode="rescue")
    put_parquet(it, "1.parquet", id=[1])
    it.run()
    put_parquet(it, "2.parquet", id=[2, 3], more=[5, None])
    it.run()
    assert it.rows() == [(1, None), (2, {"more": 5}), (3, None)]


@pytest.mark.slow  # test_evolution.py has the mode with JSON
def test_parquet_fail_on_new_columns(landing: Build) -> None:
    it = landing("parquet", schemaEvolutionMode="failOnNewColumns")
    put_parquet(it, "1.parquet", id=[1])
    it.run()
    put_parquet(it, "2.parquet", id=[2], more=[5])
    with pytest.raises(DataError) as error:
        it.run()
    assert error.value.condition == "UNKNOWN_FIELD_EXCEPTION"
    assert error.value.facts["fields"] == "'more'"


def test_text_is_one_column(landing: Build) -> None:
    it = landing("text")
    it.put("1.log", "one\n\ntwo\n")
    it.run()
    assert it.table.columns == ["value"]
    assert it.rows() == [("",), ("one",), ("two",)]
