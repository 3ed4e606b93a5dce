"""Sinks of files, divided into folders, each row once by the log of Spark's file sink."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.spark.sources.auto_loader.options.names import READERS
from penstock.testing.crash import forget_newest_commits

_FORMATS = ("parquet", "json", "csv")
_CODE = f"""
    def rows():
        return spark.readStream.schema("id INT, day STRING, name STRING").option("maxFilesPerTrigger", "1").json("in")

    for name in {_FORMATS!r}:
        options = {{"header": "true", "compression": "gzip"}} if name == "csv" else {{}}
        ps.create_sink(name, name, {{"path": "out/" + name, "partitionBy": "day", **options}})

        @ps.append_flow(target=name, name=f"to_{{name}}")
        def flow():
            return rows()

    ps.create_sink("divided", "delta", {{"tableName": "lake.divided", "partitionBy": "day"}})

    @ps.append_flow(target="divided", name="to_divided")
    def flow():
        return rows()
"""


def test_files_divided_into_folders_have_each_row_once(project: PipelineProject) -> None:
    project.write(_CODE)
    project.arrive("a", [{"id": 1, "day": "mon", "name": "a,b"}, {"id": 2, "day": "tue", "name": None}])
    assert project.run().errors == ()
    project.arrive("b", [{"id": 3, "day": "mon", "name": "c"}])
    assert project.run().errors == ()
    everything = [(1, "mon", "a,b"), (2, "tue", None), (3, "mon", "c")]
    assert {name: _rows(project.directory / "out" / name, name) for name in _FORMATS} == dict.fromkeys(
        _FORMATS, everything
    )
    divided = project.directory / ".penstock" / "tables" / "lake" / "divided"
    assert {path.name for path in divided.glob("day=*")} == {"day=mon", "day=tue"}

    # As after a crash between the commit in the folder's log and the one in the checkpoint, or before either.
    for name in _FORMATS:
        [newest] = (project.directory / ".penstock" / "checkpoints" / "shop" / name).glob("*/0/commits/1")
        newest.unlink()
        newest.with_name(".1.crc").unlink(missing_ok=True)
    for log in ("1", ".1.crc"):
        (project.directory / "out" / "json" / "_spark_metadata" / log).unlink(missing_ok=True)
    assert project.run().errors == ()
    for name in _FORMATS:
        assert _rows(project.directory / "out" / name, name) == everything
    written = list((project.directory / "out" / "json").glob("day=mon/*.json"))
    assert len(written) == 3, "the file of the batch that was cut off lies there, and nobody reads it"


@pytest.mark.slow  # Spark's log of a file sink is the same for each format, of which the test above has three
def test_other_files_have_each_row_once(project: PipelineProject, spark: SparkSession) -> None:
    formats = dict.fromkeys(("avro", "orc", "xml"), "id INT, name STRING")
    project.write(f"""
        for name, columns in {formats | {"text": "name STRING"}!r}.items():
            ps.create_sink(name, name, {{"path": "out/" + name, "rowTag": "order"}})

            @ps.append_flow(target=name, name=f"to_{{name}}")
            def flow(columns=columns):
                return spark.readStream.schema(columns).json("in")
    """)
    project.arrive("a", [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}])
    assert project.run().errors == ()
    checkpoints = [str(path.parent) for path in (project.directory / ".penstock/checkpoints").rglob("commits")]
    assert len(checkpoints) == 4
    forget_newest_commits(dict.fromkeys(checkpoints))
    project.arrive("b", [{"id": 3, "name": "c"}])
    assert project.run().errors == ()
    for name, columns in formats.items():
        read = spark.read.format(READERS.get(name, name)).schema(columns).option("rowTag", "order")
        found = read.load(f"{project.directory}/out/{name}")
        assert sorted(map(tuple, found.collect())) == [(1, "a"), (2, "b"), (3, "c")], name
    texts = spark.read.text(f"{project.directory}/out/text").collect()
    assert sorted(row["value"] for row in texts) == ["a", "b", "c"]


def _rows(folder: Path, name: Any) -> list[tuple[Any, ...]]:
    """Returns the rows of the files that the log of the sink has, as any reader that knows the log sees them."""
    found: list[tuple[Any, ...]] = []
    for entry in sorted((folder / "_spark_metadata").glob("[0-9]*")):
        for line in entry.read_text().splitlines()[1:]:
            file = Path(json.loads(line)["path"].removeprefix("file://"))
            day = file.parent.name.removeprefix("day=")
            read = ds.dataset(str(file), format=name).to_table().to_pylist()
            found.extend((row["id"], day, row.get("name") or None) for row in read)
    return sorted(found)
