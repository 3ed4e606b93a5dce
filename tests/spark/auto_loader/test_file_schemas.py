"""Avro, ORC and XML, whose readers do not tell what they leave out; binary files; records as VARIANT."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.spark.auto_loader.conftest import Landing

from penstock.errors import DataError, DefinitionError
from penstock.spark.sources.auto_loader import load_auto_loader, load_files
from penstock.spark.sources.auto_loader.options.names import READERS
from penstock.spark.sources.stream_read import StreamRead

Rows = list[dict[str, Any]]

_WHO = pa.struct([("name", pa.string()), ("age", pa.int64())])
_SCHEMA = "id BIGINT, who STRUCT<name: STRING>"
_FORMATS = {"avro": {}, "orc": {}, "parquet": {}, "xml": {"rowTag": "row", "cloudFiles.inferColumnTypes": "true"}}
# Slow: Spark's readers of Avro and ORC take a schema as that of Parquet does.
_EACH_FORMAT = pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if kind in {"avro", "orc"} else kind for kind in _FORMATS]
)


def put(spark: SparkSession, folder: Path, kind: str, name: str, rows: Rows, **types: str) -> Path:
    """Writes `rows`, which all have the same fields, as one file of the format; `types` are for Avro."""
    path = folder / f"{name}.{kind}"
    folder.mkdir(parents=True, exist_ok=True)
    match kind:
        case "xml":
            path.write_text("<rows>" + "".join(f"<row>{_elements(row)}</row>" for row in rows) + "</rows>")
        case "avro":
            frame = spark.createDataFrame(pa.Table.from_pylist(rows)).coalesce(1)
            frame = frame.withColumns({column: frame[column].cast(kind) for column, kind in types.items()})
            frame.write.format(READERS["avro"]).save(str(folder.parent / f".{name}.written"))
            [written] = (folder.parent / f".{name}.written").glob("part-*.avro")
            written.rename(path)
        case "orc":
            pyarrow.orc.write_table(pa.Table.from_pylist(rows), path)
        case "parquet":
            pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
    return path


def _elements(fields: Mapping[str, Any]) -> str:
    return "".join(
        f"<{name}>{_elements(value) if isinstance(value, dict) else value}</{name}>" for name, value in fields.items()
    )


def stream(spark: SparkSession, root: Path, sources: Mapping[str, Mapping[str, str]]) -> DataFrame:
    """One query over one folder a format, up to its end; each row with its format. One query costs less than many."""
    union: DataFrame | None = None
    for kind, options in sources.items():
        read = StreamRead("cloudFiles", {"cloudFiles.format": kind, **options}, None, str(root / kind))
        frame, _ = load_auto_loader(
            spark, read, schema_location=str(root / "schemas" / kind), source_name=kind, persist=True
        )
        frame = frame.selectExpr(f"'{kind}' AS kind", "*", "_metadata.file_path AS path_of_file")
        union = frame if union is None else union.unionByName(frame, allowMissingColumns=True)
    assert union is not None
    writer = union.writeStream.format("delta").option("mergeSchema", "true").trigger(availableNow=True)
    writer.option("checkpointLocation", str(root / "checkpoint")).start(str(root / "table")).awaitTermination()
    return spark.read.format("delta").load(str(root / "table"))


def batch(spark: SparkSession, folder: Path, kind: str, schema: str | None = None, **options: str) -> list[Any]:
    read = StreamRead(
        "cloudFiles", {"cloudFiles.format": kind, **_FORMATS.get(kind, {}), **options}, schema, str(folder)
    )
    return sorted((tuple(map(_plain, row)) for row in load_files(spark, read).collect()), key=repr)


def _plain(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("{"):
        document = json.loads(value)
        assert document.pop("_file_path").startswith("file:/")
        return document
    return value.asDict(recursive=True) if hasattr(value, "asDict") else value


def test_new_columns_also_inside_of_structs(spark: SparkSession, tmp_path: Path) -> None:
    for kind in _FORMATS:
        lines: dict[str, Any] = {} if kind == "xml" else {"lines": [{"x": 1}]}
        put(spark, tmp_path / kind, kind, "1 ü+%41", [{"id": 1, "who": {"name": "a"}, **lines}])
    stream(spark, tmp_path, _FORMATS)
    for kind in _FORMATS:
        lines = {} if kind == "xml" else {"lines": [{"x": 2, "y": {"z": "q"}}]}
        put(spark, tmp_path / kind, kind, "2", [{"id": 2, "who": {"name": "b", "age": 5}, **lines, "more": 7}])
    table = stream(spark, tmp_path, _FORMATS)
    nested = table.where("kind <> 'xml'").selectExpr("kind", "id", "lines[0].x", "lines[0].y.z").collect()
    assert sorted(map(tuple, nested)) == [
        (kind, number, number, z) for kind in ("avro", "orc", "parquet") for number, z in ((1, None), (2, "q"))
    ]
    rows = table.selectExpr("kind", "id", "who.name", "who.age", "more", "_rescued_data").collect()
    expected = [(kind, *values) for kind in _FORMATS for values in ((1, "a", None, None, None), (2, "b", 5, 7, None))]
    assert sorted(map(tuple, rows), key=repr) == sorted(expected, key=repr)
    assert (
        json.loads((tmp_path / "schemas/avro/_schemas/2").read_text())["reason"]
        == "new columns: who.age, lines.y, more"
    )


@_EACH_FORMAT
def test_what_a_given_schema_leaves_out_is_rescued(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / kind
    put(spark, folder, kind, "1", [{"id": 1, "who": {"name": "a"}}])
    put(spark, folder, kind, "2", [{"id": 2, "who": {"name": "b", "age": 5}, "more": "x"}])
    rows = batch(spark, folder, kind, _SCHEMA, rescuedDataColumn="_rescued_data")
    rescued = {"who": {"name": "b", "age": 5}, "more": "x"}
    assert rows == [(1, {"name": "a"}, None), (2, {"name": "b"}, rescued)]
    assert batch(spark, folder, kind, _SCHEMA) == [(1, {"name": "a"}), (2, {"name": "b"})], "nothing asks for the rest"


@_EACH_FORMAT
def test_another_spelling_of_a_column_is_no_other_column(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    put(spark, tmp_path / kind, kind, "1", [{"id": 1, "who": {"name": "a"}}])
    put(spark, tmp_path / kind, kind, "2", [{"ID": 2, "who": {"NAME": "b"}}])
    assert batch(spark, tmp_path / kind, kind) == [(1, {"name": "a"}, None), (2, {"name": "b"}, None)]


def test_xml_keeps_what_does_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    file = folder / "1.xml"
    file.write_text(
        '<rows><row n="1"><id>1</id></row>\n<row><id>many</id></row><row><id>3</id><tag>a</tag></row></rows>'
    )
    rows = batch(spark, folder, "xml", "id BIGINT, _n INT, tag STRING", rescuedDataColumn="_rescued_data")
    broken = {"_corrupt_record": "<row><id>many</id></row>"}
    assert rows == sorted([(1, 1, None, None), (None, None, None, broken), (3, None, "a", None)], key=repr)

    file.write_text("<rows><row><id>1</id><tag>a</tag><tag>b</tag></row></rows>")
    assert batch(spark, folder, "xml") == [(1, ["a", "b"], None)]
    with pytest.raises(DefinitionError) as error:  # Spark would keep the last one
        batch(spark, folder, "xml", **{"cloudFiles.schemaHints": "tag STRING"})
    assert error.value.condition == "AUTO_LOADER_TYPE_CONFLICT"
    assert "'tag' occurs several times" in error.value.facts["detail"]


@pytest.mark.parametrize(("kind", "name"), [("avro", "Avro"), ("orc", "ORC"), ("parquet", "Parquet")])
def test_a_file_that_is_of_another_format_is_named(spark: SparkSession, tmp_path: Path, kind: str, name: str) -> None:
    (tmp_path / f"1.{kind}").write_text("no such file " * 9)
    with pytest.raises(DataError) as error:
        batch(spark, tmp_path, kind)
    assert (error.value.facts["format"], Path(error.value.facts["file"]).name) == (name, f"1.{kind}")
    assert error.value.condition == "AUTO_LOADER_FILE_UNREADABLE"


def test_avro_types_of_several_files(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    put(spark, folder, "avro", "1", [{"a": 1}], a="INT")
    put(spark, folder, "avro", "2", [{"a": 2**40}])
    put(spark, folder, "avro", "0", [{"a": 3}], a="INT")
    assert batch(spark, folder, "avro") == [(1, None), (2**40, None), (3, None)]
    put(spark, folder, "avro", "3", [{"a": "x"}])
    assert batch(spark, folder, "avro") == [(1, None), (2**40, None), (3, None), (None, {"a": "x"})]


def test_binary_files_and_records_as_variant(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("binaryFile/day=1", "json/day=1", "csv", "xml"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "binaryFile/day=1/a.bin").write_bytes(b"\0\1")
    (tmp_path / "json/day=1/1.json").write_text('{"a": {"b": 1}}\nbroken\n{"a": 2, "c": true}\n')
    (tmp_path / "csv/1.csv").write_text("x,y\n1,a\n")
    (tmp_path / "csv/2.csv").write_text("y,x,z\nb,2,3\n")
    (tmp_path / "xml/1.xml").write_text('<rows><row n="1"><id>1</id></row></rows>')
    variant = {"singleVariantColumn": "v"}
    sources = {"binaryFile": {}, "json": variant, "csv": variant, "xml": {**variant, "rowTag": "row"}}
    table = stream(spark, tmp_path, sources)
    [binary] = table.where("kind = 'binaryFile'").select("path", "length", "content", "day").collect()
    assert (binary.path.endswith("a.bin"), binary.length, bytes(binary.content), binary.day) == (True, 2, b"\0\1", 1)
    rows = table.where("kind <> 'binaryFile'").selectExpr("kind", "to_json(v)", "day", "_rescued_data").collect()
    broken = {"_corrupt_record": "broken"}
    found = [(row[0], json.loads(row[1]) if row[1] else None, row[2], row[3] and _plain(row[3])) for row in rows]
    assert sorted(found, key=repr) == sorted(
        [
            ("json", {"a": {"b": 1}}, 1, None),
            ("json", None, 1, broken),
            ("json", {"a": 2, "c": True}, 1, None),
            ("csv", {"x": 1, "y": "a"}, None, None),
            ("csv", {"x": 2, "y": "b", "z": 3}, None, None),
            ("xml", {"_n": 1, "id": 1}, None, None),
        ],
        key=repr,
    )


def test_modification_times(landing: Callable[..., Landing]) -> None:
    it = landing(inferColumnTypes="true")
    for number, name in enumerate(("old", "good", "new")):
        os.utime(it.put_json(f"{name}.json", [{name: 1, "n": number}]), (1_000_000 + number, 1_000_000 + number))
    it.options["modifiedAfter"] = "1970-01-12 13:46:40.000000 UTC+0"
    it.options["modifiedBefore"] = "1970-01-12T13:46:42Z"
    it.run()
    it.run()
    assert it.table.columns == ["good", "n", "_rescued_data"]
    assert it.rows("n") == [(1,)]
    it.options["modifiedAfter"] = "soon"
    with pytest.raises(DefinitionError) as error:
        it.load()
    assert error.value.condition == "AUTO_LOADER_INVALID_OPTION"
    assert (error.value.facts["option"], error.value.facts["value"]) == ("modifiedAfter", "soon")
