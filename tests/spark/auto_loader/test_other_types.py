"""Files of Avro, ORC and Parquet whose columns have another type than the table's: their values are rescued."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.spark.auto_loader.conftest import Landing
from tests.spark.auto_loader.test_file_schemas import batch, put, stream

from penstock.errors import DataError
from penstock.spark.sources.auto_loader.inference import inspection as schema_inspection

Build = Callable[..., Landing]

_FORMATS: dict[str, dict[str, str]] = {"avro": {}, "orc": {}, "parquet": {}}


# Slow: Spark's readers of Avro and ORC take a schema as that of Parquet does.
@pytest.mark.parametrize("kind", ["parquet", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("avro", "orc"))])
def test_the_type_of_the_oldest_file_or_of_a_hint_counts(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / kind
    put(spark, folder, kind, "1", [{"id": 1, "who": {"age": 1}, "note": 5}])
    put(spark, folder, kind, "2", [{"id": "x", "who": {"age": 2}, "note": "a"}])
    put(spark, folder, kind, "3", [{"id": 3, "who": {"age": "old"}, "note": "b"}])
    for number in (1, 2, 3):
        os.utime(folder / f"{number}.{kind}", (number, number))
    hint = "5" if kind == "orc" else None  # which reads any number as its text
    rows = batch(spark, folder, kind, **{"cloudFiles.schemaHints": "note STRING"})
    assert rows == [
        (1, {"age": 1}, hint, None if hint else {"note": 5}),
        (3, None, "b", {"who": {"age": "old"}}),
        (None, {"age": 2}, "a", {"id": "x"}),
    ]


@pytest.mark.slow  # two queries over three formats; how such files are read, the test above shows
def test_values_of_later_files_are_rescued_and_the_rest_of_their_rows_is_kept(
    spark: SparkSession, tmp_path: Path
) -> None:
    for kind in _FORMATS:
        put(spark, tmp_path / kind, kind, "1", [{"id": 1, "who": {"age": 1}, "n": 1}])
    stream(spark, tmp_path, _FORMATS)
    for kind in _FORMATS:
        put(spark, tmp_path / kind, kind, "2 ü+%41", [{"id": "x", "who": {"age": 2}, "n": 2}, {"id": None, "n": 3}])
        put(spark, tmp_path / kind, kind, "3", [{"id": 4, "who": {"age": "old"}, "n": 4, "more": 7}])
        put(spark, tmp_path / kind, kind, "4", [{"id": 5, "who": {"age": 5}, "n": 5}])
    table = stream(spark, tmp_path, _FORMATS)
    rows = table.selectExpr("kind", "n", "id", "who.age", "more", "_rescued_data").collect()
    found = [(*row[:5], row[5] and {k: v for k, v in json.loads(row[5]).items() if k != "_file_path"}) for row in rows]
    assert sorted(found, key=repr) == [
        (kind, *row)
        for kind in _FORMATS
        for row in (
            (1, 1, 1, None, None),
            (2, None, 2, None, {"id": "x"}),
            (3, None, None, None, None),
            (4, 4, None, 7, {"who": {"age": "old"}}),
            (5, 5, 5, None, None),
        )
    ]
    [origin] = {json.loads(row[5])["_file_path"] for row in rows if row[1] == 2 and row[0] == "orc"}
    assert origin.endswith(("2%20%C3%BC+%2541.orc", "2%20ü+%2541.orc")), origin
    assert [row.n for row in table.where("kind = 'parquet' AND id = 4").collect()] == [4], "as the column's statistics"


def put_parquet(it: Landing, name: str, **columns: list[Any]) -> None:
    pq.write_table(pa.table(columns), it.files / name)


def test_a_file_that_nobody_has_looked_at(landing: Build) -> None:
    it = landing("parquet", schemaEvolutionMode="none")
    put_parquet(it, "1.parquet", id=[1])
    it.run()
    put_parquet(it, "2.parquet", id=["x"])
    it.run()
    assert it.rows() == [(1, None), (None, {"id": "x"})]
    assert [(each.new_columns, each.version) for each in it.evolutions] == [((), 1)]
    put_parquet(it, "3.parquet", id=[3])
    it.run()
    assert it.rows("id") == [(1,), (3,), (None,)]


def test_without_a_rescued_data_column_the_file_is_named_and_loses_nothing(landing: Build) -> None:
    it = landing("parquet", schema="who STRUCT<id: BIGINT>")
    put_parquet(it, "1.parquet", who=[{"id": 1}])
    it.run()
    put_parquet(it, "2.parquet", who=[{"id": "x"}])
    with pytest.raises(DataError) as error:
        it.run()
    assert error.value.condition == "AUTO_LOADER_TYPE_MISMATCH"
    file = error.value.facts.pop("file")
    assert file.endswith("2.parquet")
    assert error.value.facts == {"column": "who.id", "found": "string", "expected": "bigint"}
    put_parquet(it, "2.parquet", who=[{"id": 2}])
    it.run()
    assert it.rows() == [({"id": 1},), ({"id": 2},)]


@pytest.mark.slow  # streams of their own; what they have in common with others, these show
def test_rescued_columns_have_several_types_too(landing: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    it = landing("parquet", schemaEvolutionMode="rescue", maxFilesPerTrigger="1")
    put_parquet(it, "1.parquet", id=[1])
    it.run()
    put_parquet(it, "2.parquet", id=[2], more=[5])
    put_parquet(it, "3.parquet", id=[3], more=["x"])
    put_parquet(it, "4.parquet", id=["y"], more=[True])
    it.run()
    monkeypatch.setattr(schema_inspection, "infer_columns", None)  # nothing is new
    it.run()
    assert it.rows() == [(1, None), (2, {"more": 5}), (3, {"more": "x"}), (None, {"id": "y", "more": True})]


@pytest.mark.slow  # streams of their own; what they have in common with others, these show
def test_a_file_that_was_corrected_is_read_as_it_is(landing: Build) -> None:
    it = landing("parquet", allowOverwrites="true")
    put_parquet(it, "1.parquet", id=[1])
    put_parquet(it, "2.parquet", id=["x"])
    it.run()
    put_parquet(it, "2.parquet", id=[2])
    it.run()
    assert it.rows() == [(1, None), (2, None), (None, {"id": "x"})]


# Of each column: its type in the table, the type in a file and its value there, and whether the column takes it.
_NUMBERS: list[tuple[str, pa.DataType, Any, bool]] = [
    ("SMALLINT", pa.int32(), 70_000, False),
    ("INT", pa.int64(), 2**40, False),
    ("BIGINT", pa.int32(), 7, True),
    ("DOUBLE", pa.float32(), 0.5, True),
    ("DOUBLE", pa.int32(), 7, True),
    ("FLOAT", pa.float64(), 0.1, False),
    ("DATE", pa.timestamp("us"), 90_000_000_000, False),
    ("STRING", pa.int64(), 7, False),
    ("STRING", pa.binary(), b"a", True),
]


def test_no_value_is_cut_to_the_type_of_its_column(spark: SparkSession, tmp_path: Path) -> None:
    columns = {f"c{at}": pa.array([value], kind) for at, (_, kind, value, _) in enumerate(_NUMBERS)}
    pq.write_table(pa.table(columns), tmp_path / "1.parquet")
    schema = ", ".join(f"c{at} {ddl}" for at, (ddl, *_) in enumerate(_NUMBERS))
    [row] = batch(spark, tmp_path, "parquet", schema, rescuedDataColumn="_rescued_data")
    for at, (ddl, kind, _, fits) in enumerate(_NUMBERS):
        assert (row[at] is not None) == fits, (ddl, kind)
        assert (f"c{at}" in row[-1]) == (not fits), (ddl, kind)
