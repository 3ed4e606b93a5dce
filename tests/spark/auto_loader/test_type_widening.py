"""`addNewColumnsWithTypeWidening`: columns become as wide as files need them, and what no type holds is rescued."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import _parse_datatype_string
from tests.spark.auto_loader.conftest import Landing
from tests.spark.auto_loader.test_file_schemas import batch, put
from tests.spark.pipeline_project import PipelineProject

from penstock.spark.sources.auto_loader import load_files
from penstock.spark.sources.auto_loader.options.names import READERS
from penstock.spark.sources.auto_loader.schema.widening import wider_type_sql
from penstock.spark.sources.stream_read import StreamRead

Build = Callable[..., Landing]
_WIDENING = "addNewColumnsWithTypeWidening"


@pytest.fixture
def widening(spark: SparkSession, landing: Build) -> Iterator[Build]:
    """A `landing` in the mode, whose table can be widened."""
    defaults = {
        "spark.databricks.delta.properties.defaults.enableTypeWidening": "true",
        "spark.databricks.delta.properties.defaults.feature.timestampNtz": "supported",
    }
    for name, value in defaults.items():
        spark.conf.set(name, value)
    yield lambda *args, **options: landing(*args, schemaEvolutionMode=_WIDENING, **options)
    for name in defaults:
        spark.conf.unset(name)


def reasons(it: Landing) -> list[str]:
    versions = sorted((it.schemas / "_schemas").iterdir(), key=lambda path: int(path.name))
    return [json.loads(path.read_text())["reason"] for path in versions[1:]]


def test_a_pipeline_goes_on_with_the_wider_type(project: PipelineProject) -> None:
    project.write(
        """
        wide = {"delta.enableTypeWidening": "true"}

        @dlt.table(table_properties=wide)
        def bronze():
            return (spark.readStream.format("cloudFiles").option("cloudFiles.format", "json")
                .option("cloudFiles.schemaEvolutionMode", "addNewColumnsWithTypeWidening")
                .option("cloudFiles.schemaHints", "id INT").option("cloudFiles.maxFilesPerTrigger", 1).load("in"))

        @dlt.table(table_properties=wide)
        def silver():
            return dlt.read_stream("bronze").select("id", "_rescued_data")
        """
    )
    project.arrive("1", [{"id": 1}])
    project.arrive("2", [{"id": 2**40}])
    project.arrive("3", [{"id": "x7"}, {"id": 3}])
    outcome = project.run()
    assert outcome.errors == ()
    for name in ("bronze", "silver"):
        table = project.spark.read.format("delta").load(str(project.path(name)))
        assert table.dtypes == [("id", "bigint"), ("_rescued_data", "string")], name
        assert sorted((row.id or 0) for row in table.collect()) == [0, 1, 3, 2**40]
        [rescued] = [json.loads(row._rescued_data) for row in table.where("id IS NULL").collect()]
        assert (rescued["id"], Path(rescued["_file_path"]).name) == ("x7", "3.json")
    assert any("wider types: id bigint" in event.message for event in project.events(outcome))


@pytest.mark.slow  # two runs of two flows; Delta widens the columns, and other tests show that they are merged
def test_the_target_of_changes_gets_the_wider_type(project: PipelineProject) -> None:
    project.write(
        """
        @dlt.view
        def changes():
            return (spark.readStream.format("cloudFiles").option("cloudFiles.format", "json")
                .option("cloudFiles.schemaEvolutionMode", "addNewColumnsWithTypeWidening")
                .option("cloudFiles.schemaHints", "id INT, n INT, total INT").load("in"))

        dlt.create_streaming_table("customers", table_properties={"delta.enableTypeWidening": "true"})
        dlt.create_auto_cdc_flow(target="customers", source="changes", keys=["id"], sequence_by="n",
            except_column_list=["n", "_rescued_data"])

        @dp.table(output_mode="update", keys=["id"], table_properties={"delta.enableTypeWidening": "true"})
        def newest():
            return spark.readStream.table("changes").select("id", "total")
        """
    )
    project.arrive("1", [{"id": 1, "n": 1, "total": 1}, {"id": 2, "n": 1, "total": 1}])
    assert project.run().errors == ()
    project.arrive("2", [{"id": 1, "n": 2, "total": 2**40}])
    assert project.run().errors == ()
    for name in ("customers", "newest"):
        table = project.spark.read.format("delta").load(str(project.path(name)))
        assert dict(table.dtypes)["total"] == "bigint", name
        assert sorted(map(tuple, table.select("id", "total").collect())) == [(1, 2**40), (2, 1)], name


@pytest.mark.parametrize("prefers_decimal", [None, False, True])
def test_the_type_that_a_number_needs(spark: SparkSession, prefers_decimal: bool | None) -> None:
    some = prefers_decimal is not None
    cases = [
        ("TINYINT", "127", None),
        ("TINYINT", "-129", "smallint"),
        ("TINYINT", "40000", "int"),
        ("SMALLINT", "-2147483649", "bigint"),
        ("INT", "2147483647", None),
        ("INT", "2147483648", "bigint"),
        ("INT", "1.5", "DECIMAL(11,1)" if prefers_decimal else "double"),
        ("INT", "1e3", "double"),
        ("INT", str(2**70), "DECIMAL(22,0)" if some else None),
        ("BIGINT", str(2**63 - 1), None),
        ("BIGINT", str(-(2**63) - 1), "DECIMAL(20,0)" if some else None),
        ("BIGINT", "1.25", "DECIMAL(22,2)" if prefers_decimal else None),
        ("BIGINT", "1e3", None),
        ("DECIMAL(5,2)", "-999.99", None),
        ("DECIMAL(5,2)", "1.239", "DECIMAL(6,3)" if some else None),
        ("DECIMAL(5,2)", "1000", "DECIMAL(6,2)"),
        ("DECIMAL(5,2)", "-1000.125", "DECIMAL(7,3)"),
        ("DECIMAL(38,30)", "123456789", None),
        ("DOUBLE", "1e300", None),
        ("INT", '"5000000000"', None),
        ("INT", "true", None),
        ("INT", "null", None),
        ("INT", "{}", None),
        ("STRING", "1", None),
    ]
    found = []
    for kind, value, _ in cases:
        sql = wider_type_sql(
            f"parse_json('{value}')", _parse_datatype_string(kind), "c", prefers_decimal=prefers_decimal
        )
        found.append("CAST(array() AS ARRAY<STRING>)" if sql is None else f"transform({sql}, f -> f.type)")
    [row] = spark.sql(f"SELECT {', '.join(found)}").collect()
    assert [(kind, value, (types or [None])[0]) for (kind, value, _), types in zip(cases, row, strict=True)] == cases


def test_json_columns_widen_inside_of_values_too(widening: Build) -> None:
    hints = "i INT, n BIGINT, d DECIMAL(5,2), who.age SMALLINT, l ARRAY<STRUCT<xy: INT>>, m MAP<STRING, INT>"
    it = widening(inferColumnTypes="true", schemaHints=hints)
    first = {"i": 1, "n": 1, "d": 1.5, "who": {"age": 1}, "l": [{"xy": 1}], "m": {"k": 1}}
    it.put_json("1.json", [first])
    it.run()
    wide = {"i": 1.5, "n": 2**70, "d": 123456.789, "who": {"age": 2**20}, "l": [{"xy": 2}, {"xy": 2**33}]}
    it.put_json("2.json", [{**wide, "m": {"k": 2**34}}, {"i": "5", "n": 2.5, "m": {"k": "no"}}])
    it.run()
    assert dict(it.table.dtypes) == {
        "i": "double",
        "n": "decimal(23,1)",
        "d": "decimal(9,3)",
        "who": "struct<age:int>",
        "l": "array<struct<xy:bigint>>",
        "m": "map<string,bigint>",
        "_rescued_data": "string",
    }
    wider = "d decimal(9,3), i double, l.element.xy bigint, m.value bigint, n decimal(23,1), who.age int"
    assert reasons(it) == [f"wider types: {wider}"], "the records of a batch need one start"
    assert it.rows("i", "n", "who.age", "l.xy", "_rescued_data") == [
        (1.0, Decimal(1), 1, [1], None),
        (1.5, Decimal(2**70), 2**20, [2, 2**33], None),
        (None, Decimal("2.5"), None, None, {"i": "5", "m": {"k": "no"}}),
    ]


@pytest.mark.slow
def test_csv_columns_whether_files_have_one_header_or_several(widening: Build) -> None:
    it = widening("csv", inferColumnTypes="true")
    it.put("1.csv", "id,price\n1,2\n")
    it.run()
    it.put("2.csv", "id,price\n5000000000,3\nmany,4\n")
    it.run()
    assert reasons(it) == ["wider types: id bigint"]
    it.put("3.csv", "price,id\n4.5,6\n7,2.5\n")
    it.put("4.csv", "id,price\n8,9\n")
    it.run()
    assert reasons(it)[1:] == ["files with another header", "wider types: price double"]
    assert it.rows("id", "price", "_rescued_data") == [
        (1, 2.0, None),
        (5000000000, 3.0, None),
        (6, 4.5, None),
        (8, 9.0, None),
        (None, 4.0, {"id": "many"}),
        (None, 7.0, {"id": "2.5"}),
    ]


# Of each column: its type and value in the first file, those in the second one, and its type in the table.
_PARQUET: dict[str, tuple[Any, ...]] = {
    "i": (pa.int32(), 1, pa.int64(), 2**40, "bigint"),
    "s": (pa.int16(), 1, pa.int32(), 2**20, "int"),
    "f": (pa.float32(), 0.5, pa.float64(), 1e300, "double"),
    "r": (pa.int32(), 1, pa.float64(), 2.5, "double"),
    "n": (pa.int64(), 1, pa.decimal128(22, 1), Decimal("2.5"), "decimal(22,1)"),
    "c": (pa.int32(), 1, pa.decimal128(5, 2), Decimal("2.50"), "decimal(12,2)"),
    "d": (pa.decimal128(5, 2), Decimal("1.50"), pa.decimal128(9, 3), Decimal("2.500"), "decimal(9,3)"),
    "t": (pa.date32(), 0, pa.timestamp("us"), 90_000_000_000, "timestamp_ntz"),
    "w": (pa.int64(), 2, pa.int32(), 3, "bigint"),
}


@pytest.mark.slow
def test_parquet_files_with_wider_types(widening: Build) -> None:
    it = widening("parquet")
    for name, number in (("1.parquet", 0), ("2.parquet", 1)):
        halves = {column: case[2 * number : 2 * number + 2] for column, case in _PARQUET.items()}
        columns = {column: pa.array([half[1]], half[0]) for column, half in halves.items()}
        nested = pa.StructArray.from_arrays([columns["i"]], ["x"])
        lists = pa.ListArray.from_arrays([0, 1], columns["f"])
        pq.write_table(pa.table({**columns, "who": nested, "l": lists}), it.files / name)
        it.run()
    assert dict(it.table.dtypes) == {
        **{column: case[4] for column, case in _PARQUET.items()},
        "who": "struct<x:bigint>",
        "l": "array<double>",
        "_rescued_data": "string",
    }
    times = [str(time) for (time,) in it.rows("t")]
    assert times == ["1970-01-01 00:00:00", "1970-01-02 01:00:00"]
    for column in set(_PARQUET) - {"t"}:
        _, before, _, after, _ = _PARQUET[column]
        assert sorted(value for (value,) in it.rows(column)) == [before, after], column
    assert it.rows("who.x", "l") == [(1, [0.5]), (2**40, [1e300])]
    assert it.rows("_rescued_data") == [(None,), (None,)]


# Slow: ORC's schemas are merged as those of Avro, and test_file_schemas.py reads it.
@pytest.mark.parametrize("kind", ["avro", pytest.param("orc", marks=pytest.mark.slow)])
def test_files_of_other_formats_with_wider_types(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    before = {"i": "INT", "f": "FLOAT", "r": "INT", "d": "DECIMAL(5,2)", "w": "BIGINT", "who": "STRUCT<x: INT>"}
    after = {"i": "BIGINT", "f": "DOUBLE", "r": "DOUBLE", "d": "DECIMAL(9,3)", "w": "INT", "who": "STRUCT<x: BIGINT>"}
    if kind == "orc":
        before, after = {**before, "n": "BIGINT", "c": "INT"}, {**after, "n": "DECIMAL(22,1)", "c": "DECIMAL(12,2)"}
    folder = tmp_path / "in"
    folder.mkdir()
    for name, types, number in (("1", before, "1"), ("2", after, "2")):
        values = [f"CAST({number} AS {ddl}) AS {column}" for column, ddl in types.items() if column != "who"]
        rows = spark.sql(f"SELECT {', '.join(values)}, CAST(named_struct('x', {number}) AS {types['who']}) AS who")
        rows.coalesce(1).write.format(READERS.get(kind, kind)).save(str(tmp_path / f".{name}"))
        [written] = (tmp_path / f".{name}").glob(f"part-*.{kind}")
        written.rename(folder / f"{name}.{kind}")
    read = StreamRead(
        "cloudFiles", {"cloudFiles.format": kind, "cloudFiles.schemaEvolutionMode": _WIDENING}, None, str(folder)
    )
    frame = load_files(spark, read)
    expected = {"i": "bigint", "f": "double", "r": "double", "d": "decimal(9,3)", "w": "bigint", "n": "decimal(22,1)",
                "c": "decimal(12,2)", "who": "struct<x:bigint>", "_rescued_data": "string"}  # fmt: skip
    assert dict(frame.dtypes) == {name: expected[name] for name in (*before, "_rescued_data")}
    assert sorted(tuple(map(float, row)) for row in frame.drop("who", "_rescued_data").collect()) == [
        (number,) * (len(before) - 1) for number in (1.0, 2.0)
    ]
    assert sorted(row.x for row in frame.select("who.x").collect()) == [1, 2]


@pytest.mark.slow
def test_xml_columns_widen_when_a_record_does_not_fit(spark: SparkSession, widening: Build) -> None:
    it = widening("xml", inferColumnTypes="true", schemaHints="id INT")
    it.options["rowTag"] = "row"
    put(spark, it.files, "xml", "1", [{"id": 1, "name": "a"}])
    it.run()
    put(spark, it.files, "xml", "2", [{"id": 2, "name": "b"}])
    it.run()
    assert dict(it.table.dtypes)["id"] == "int", "its values fit"
    put(spark, it.files, "xml", "3", [{"id": 2**40, "name": "c"}])
    it.run()
    assert dict(it.table.dtypes)["id"] == "bigint"
    assert it.rows("id", "_rescued_data") == [(1, None), (2**40, None), (2, None)]


@pytest.mark.slow
def test_other_modes_keep_the_types(landing: Build) -> None:
    it = landing(schemaHints="id INT")
    it.put_json("1.json", [{"id": 1}])
    it.run()
    it.put_json("2.json", [{"id": 2**40}])
    it.run()
    assert it.rows() == [(1, None), (None, {"id": 2**40})]


def test_files_of_the_first_start_that_disagree_about_a_type(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    put(spark, folder, "parquet", "1", [{"a": 1}])
    pq.write_table(pa.table({"a": pa.array([2], pa.int32())}), folder / "3.parquet")
    assert batch(spark, folder, "parquet", **{"cloudFiles.schemaEvolutionMode": _WIDENING}) == [(1, None), (2, None)]
    put(spark, folder, "parquet", "2", [{"a": "x"}])
    rows = batch(spark, folder, "parquet", **{"cloudFiles.schemaEvolutionMode": _WIDENING})
    assert rows == [(1, None), (2, None), (None, {"a": "x"})]
