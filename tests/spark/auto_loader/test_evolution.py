"""New fields: the batch fails, the schema grows, the same checkpoint goes on, each row is there once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from tests.spark.auto_loader.conftest import Landing

from penstock.errors import DataError, StateError
from penstock.spark.sources.auto_loader import describe_failure, load
from penstock.spark.sources.auto_loader.files.discovery import Listing, list_files
from penstock.spark.sources.auto_loader.options.read_options import AutoLoaderOptions

Build = Callable[..., Landing]


def test_new_fields_become_columns_at_the_end_and_each_row_comes_once(landing: Build) -> None:
    it = landing(inferColumnTypes="true", maxFilesPerTrigger="2")
    for number in range(3):
        it.put_json(
            f"{number}.json",
            [{"id": number}],
        )
    it.run()
    for number in range(3, 8):
        it.put_json(
            f"{number}.json",
            [{"id": number, "b": number / 2, "a": "x"}],
        )
    it.put("8.json", '{"id": 8, "c": {"d": 1}}\nbroken\n')
    it.run()
    assert it.table.dtypes[:2] == [("id", "bigint"), ("_rescued_data", "string")], "the table keeps its order"
    assert [evolution.new_columns for evolution in it.evolutions] == [("a", "b"), ("c",)]
    assert it.rows("id", "a", "b") == sorted(
        [*((n, None, None) for n in (0, 1, 2, 8)), *((n, "x", n / 2) for n in range(3, 8)), (None, None, None)],
        key=repr,
    )
    assert it.rows("_rescued_data")[-1] == ({"_corrupt_record": "broken"},) or (
        {"_corrupt_record": "broken"},
    ) in it.rows("_rescued_data")


def test_schema_versions_are_numbered_json_that_a_person_can_read(landing: Build) -> None:
    it = landing()
    it.put_json("1.json", [{"id": 1}])
    it.run()
    it.put_json("2.json", [{"id": 1, "zone": "north"}])
    it.run()
    versions = {path.name: json.loads(path.read_text()) for path in (it.schemas / "_schemas").iterdir()}
    assert sorted(versions) == ["1", "2"]
    assert versions["1"]["columns"] == ["id: string"]
    assert versions["2"]["columns"] == ["id: string", "zone: string"]
    assert versions["2"]["reason"] == "new columns: zone"
    assert it.evolutions[0].version == 2


def test_a_new_field_in_the_first_batch_behind_the_sample(landing: Build, spark: SparkSession) -> None:
    conf = "spark.databricks.cloudFiles.schemaInference.sampleSize.numFiles"
    spark.conf.set(conf, "1")
    try:
        it = landing()
        it.put_json(
            "1.json",
            [{"id": 1}],
        )
        it.put_json("2.json", [{"id": 2, "late": True}])
        it.run()
    finally:
        spark.conf.unset(conf)
    assert it.rows("id", "late") == [("1", None), ("2", "true")]
    assert len(it.evolutions) == 1


@pytest.mark.slow  # test_json.py has new fields of structs and lists
def test_new_nested_fields_extend_the_struct(landing: Build) -> None:
    it = landing(inferColumnTypes="true")
    it.put_json("1.json", [{"id": 1, "who": {"name": "a"}, "lines": [{"x": 1}]}])
    it.run()
    it.put_json("2.json", [{"id": 2, "who": {"name": "b", "age": 3}, "lines": [{"x": 1, "y": "q"}]}])
    it.run()
    assert dict(it.table.dtypes)["who"] == "struct<name:string,age:bigint>"
    assert dict(it.table.dtypes)["lines"] == "array<struct<x:bigint,y:string>>"
    assert set(it.evolutions[0].new_columns) == {"who.age", "lines.y"}
    assert it.rows("id", "_rescued_data") == [(1, None), (2, None)]


def test_hints_hold_for_columns_that_come_later(landing: Build) -> None:
    it = landing(schemaHints="price DECIMAL(8,2)")
    it.put_json("1.json", [{"id": 1}])
    it.run()
    assert dict(it.table.dtypes)["price"] == "decimal(8,2)"


def test_a_field_that_is_only_null_adds_no_column(landing: Build) -> None:
    it = landing()
    it.put_json("1.json", [{"id": 1}])
    it.run()
    it.put_json("2.json", [{"id": 2, "x": None}])
    it.run()
    assert it.evolutions == []
    assert it.rows() == [("1", None), ("2", None)]


def test_fail_on_new_columns_commits_nothing_and_names_field_and_file(landing: Build) -> None:
    it = landing(schemaEvolutionMode="failOnNewColumns")
    it.put_json("1.json", [{"id": 1}])
    it.run()
    file = it.put_json("2 ü.json", [{"id": 2, "it's": 1, "a.b": 2}])
    with pytest.raises(StreamingQueryException) as failure:
        it.run()
    error = describe_failure(failure.value, dataset="orders")
    assert isinstance(error, DataError)
    assert error.condition == "UNKNOWN_FIELD_EXCEPTION"
    assert error.facts["fields"] == "'it's', 'a.b'"
    assert error.facts["file"].endswith(str(file))
    assert it.rows() == [("1", None)]
    assert len(list((it.schemas / "_schemas").iterdir())) == 1
    it.options["cloudFiles.schemaHints"] = "`it's` INT, `a.b` STRING, id INT"  # what the error says to do
    it.transform = lambda frame: frame.withColumnRenamed("a.b", "ab").withColumnRenamed("it's", "its")
    it.run()
    assert it.rows("id", "its", "ab") == [("1", None, None), ("2", 1, "2")]


def test_a_failure_of_something_else_is_not_ours(landing: Build, spark: SparkSession) -> None:
    it = landing()
    it.put_json("1.json", [{"id": 1}])
    it.transform = lambda frame: frame.where("id > 5 OR raise_error('PENSTOCK_UNKNOWN_FIELDS is only a text here')")
    with pytest.raises((StreamingQueryException, ValueError)):
        it.run()


def test_a_report_of_another_source_is_not_ours(landing: Build, spark: SparkSession) -> None:
    it = landing()
    it.put_json("1.json", [{"id": 1}])
    _, source = it.load()
    it.put_json("2.json", [{"x": 1}])
    frame, _ = it.load()
    query = frame.writeStream.format("noop").option("checkpointLocation", str(it.root / "c")).trigger(availableNow=True)
    with pytest.raises(StreamingQueryException) as failure:
        query.start().awaitTermination()
    assert replace(source, source_name="another_source").evolve(spark, failure.value, str(it.root / "c")) is None
    assert source.evolve(spark, failure.value, str(it.root / "c")) is not None


def test_validating_writes_nothing_and_lists_and_infers_once(landing: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    it, listings = landing(), list[Listing]()

    def counted(spark: SparkSession, options: AutoLoaderOptions) -> Listing:
        listings.append(list_files(spark, options))
        return listings[-1]

    monkeypatch.setattr(load, "list_files", counted)
    it.put_json("1.json", [{"id": 1}])
    frame, source = it.load(persist=False)
    it.put_json("2.json", [{"id": 1, "x": 2}])
    again, _ = it.load(persist=False)
    assert frame.columns == again.columns == ["id", "_rescued_data"]
    assert source.version.number == 1
    assert not it.schemas.exists()
    it.load()
    it.load()
    assert len(listings) == 1


def test_a_damaged_schema_version_is_named(landing: Build) -> None:
    it = landing()
    it.put_json("1.json", [{"id": 1}])
    it.load()
    (it.schemas / "_schemas" / "1").write_text("{")
    with pytest.raises(StateError) as error:
        it.load()
    assert error.value.condition == "AUTO_LOADER_SCHEMA_UNREADABLE"
    assert error.value.facts["path"].endswith("_schemas/1")
