"""Files that are empty, compressed, huge, damaged or in another encoding: nothing is lost, or the run says so."""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
import shutil
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.auto_loader.conftest import Landing
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import DataError, DefinitionError

Build = Callable[..., Landing]

_BIG = 50_000_000


def _json(number: int, encoding: str = "utf-8") -> bytes:
    return (json.dumps({"id": number, "name": "Zoë"}, ensure_ascii=False) + "\n").encode(encoding)


def _csv(number: int, encoding: str = "utf-8") -> bytes:
    return f"id,name\n{number},Zoë\n".encode(encoding)


def _xml(number: int) -> bytes:
    return f"<rows>\n<row><id>{number}</id><name>Zoë</name></row>\n</rows>\n".encode()


# Slow: bytes become text before a record is looked for, in CSV as in JSON.
_CONTENT = pytest.mark.parametrize(
    ("source_format", "content"), [("json", _json), pytest.param("csv", _csv, marks=pytest.mark.slow)]
)


def _put_all_ways(it: Landing, source_format: str, content: Callable[[int], bytes]) -> None:
    """Records 1 to 7, each in a file that begins, ends or is compressed in another way, beside an empty one."""
    files = {
        "mark": codecs.BOM_UTF8 + content(1),
        "empty": b"",
        "windows": content(2).replace(b"\n", b"\r\n"),
        "no_end": content(3).rstrip(b"\n"),
        "blank": content(4) + b"\n\n",
    }
    for name, each in files.items():
        (it.files / f"{name}.{source_format}").write_bytes(each)
    (it.files / f"5.{source_format}.gz").write_bytes(gzip.compress(content(5)))
    (it.files / f"6.{source_format}.bz2").write_bytes(bz2.compress(content(6)))
    (it.files / f"7.{source_format}.zst").write_bytes(pa.Codec("zstd").compress(content(7)).to_pybytes())


@pytest.mark.parametrize(("source_format", "content"), [("json", _json), ("csv", _csv), ("xml", _xml)])
def test_empty_files_marks_line_ends_and_compression(
    landing: Build, source_format: str, content: Callable[[int], bytes]
) -> None:
    it = landing(source_format, schemaHints="id INT")
    if source_format == "xml":
        it.options["rowTag"] = "row"
    _put_all_ways(it, source_format, content)
    it.run()
    assert it.rows("id", "name", "_rescued_data") == [(number, "Zoë", None) for number in range(1, 8)]


def test_lines_of_text_are_as_they_stand_there(landing: Build) -> None:
    it = landing("text")
    _put_all_ways(it, "txt", lambda number: f"{number} Zoë\n".encode())
    it.run()
    assert it.rows("value") == [("",), ("",), *((f"{number} Zoë",) for number in range(1, 8))]


@_CONTENT
@pytest.mark.parametrize("encoding", ["ISO-8859-1", pytest.param("UTF-16LE", marks=pytest.mark.slow)])
def test_another_encoding(
    landing: Build, source_format: str, content: Callable[[int, str], bytes], encoding: str
) -> None:
    it = landing(source_format, schemaHints="id INT")
    it.options["encoding"] = encoding
    if source_format == "csv":
        it.options["lineSep"] = "\n"
    mark = codecs.BOM_UTF16_LE if (encoding, source_format) == ("UTF-16LE", "json") else b""
    (it.files / f"1.{source_format}").write_bytes(mark + content(1, encoding) + (content(2, encoding) if mark else b""))
    it.run()
    found = it.rows("id", "name", "_rescued_data")
    assert found == [(number, "Zoë", None) for number in range(1, len(found) + 1)]
    assert len(found) == (2 if mark else 1)


@_CONTENT
def test_bytes_that_are_no_utf8_lose_no_row(
    landing: Build, source_format: str, content: Callable[[int, str], bytes]
) -> None:
    it = landing(source_format, schemaHints="id INT")
    (it.files / f"1.{source_format}").write_bytes(content(1, "utf-8"))
    it.run()
    (it.files / f"2.{source_format}").write_bytes(content(2, "latin-1"))
    it.run()
    assert it.rows("id", "name") == [(1, "Zoë"), (2, "Zo�")]


def test_a_file_in_utf16_is_rescued(landing: Build) -> None:
    it = landing(schemaHints="id INT")
    (it.files / "1.json").write_bytes(_json(1))
    it.run()
    (it.files / "2.json").write_bytes(_json(2, "utf-16"))
    it.run()
    whole, *broken = it.rows("id", "_rescued_data")
    assert whole == (1, None)
    assert broken
    assert {(key, tuple(rescued)) for key, rescued in broken} == {(None, ("_corrupt_record",))}


@pytest.mark.slow
def test_a_line_of_fifty_megabytes(landing: Build) -> None:
    it = landing(schemaHints="id INT, name STRING")
    it.put_json("1.json", [{"id": 1, "name": "x" * _BIG}, {"id": 2, "name": "y"}])
    it.run()
    found = it.table.selectExpr("id", "length(name)", "_rescued_data").collect()
    assert sorted(map(tuple, found)) == [(1, _BIG, None), (2, 1, None)]


def test_a_file_that_is_cut_off_is_named_and_commits_nothing(landing: Build) -> None:
    it = landing(schemaHints="id INT")
    (it.files / "1.json").write_bytes(_json(1))
    it.run()
    whole = gzip.compress(b"".join(_json(number) for number in range(2, 1002)))
    cut = it.files / "2.json.gz"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError) as error:
        it.run()
    assert error.value.condition == "AUTO_LOADER_FILE_UNREADABLE"
    assert error.value.facts["file"].endswith("2.json.gz")
    assert len(it.rows()) == 1
    cut.write_bytes(whole)
    it.run()
    assert len(it.rows()) == 1001


@pytest.mark.slow  # as a file without new columns
def test_a_file_with_new_columns_that_is_cut_off_is_named(landing: Build) -> None:
    it = landing()
    it.put_json("1.json", [{"id": 1}])
    it.run()
    whole = gzip.compress(b"".join(_json(number) for number in range(1000)))
    (it.files / "2.json.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError) as error:
        it.run()
    assert error.value.condition == "AUTO_LOADER_FILE_UNREADABLE"
    assert error.value.facts["file"].endswith("2.json.gz")
    assert "Unexpected end of input stream" in error.value.facts["reason"]
    assert len(it.rows()) == 1


def test_a_folder_that_is_deleted_while_the_stream_runs(landing: Build) -> None:
    it = landing(schema="id INT")
    it.put_json("1.json", [{"id": 1}])
    with it.streaming() as query:
        shutil.rmtree(it.files)
        query.processAllAvailable()
        it.move_in("2.json", '{"id": 2}\n')
        query.processAllAvailable()
        assert it.rows() == [(1,), (2,)], "it waits for the folder"
        shutil.rmtree(it.files)
    with pytest.raises(DefinitionError) as missing:
        it.load()
    assert missing.value.condition == "PATH_NOT_FOUND"


def test_files_that_are_left_out_are_told(project: PipelineProject) -> None:
    folder = project.directory / "in"
    for kind in ("json", "parquet"):
        (folder / kind).mkdir(parents=True)
    rows = b"".join(b'{"id": %d}\n' % number for number in range(2))
    (folder / "json/1.json").write_bytes(rows)
    (folder / "json/2.json.gz").write_bytes(b"no gzip")
    pq.write_table(pa.table({"id": [1, 2]}), folder / "parquet/1.parquet")
    (folder / "parquet/2.parquet").write_bytes(b"no Parquet" * 9)
    project.write("""
        for kind in ("json", "parquet"):
            def read(kind=kind):
                files = spark.readStream.format("cloudFiles").option("cloudFiles.format", kind)
                files = files.option("cloudFiles.schemaHints", "id BIGINT").option("ignoreCorruptFiles", "true")
                return files.load("in/" + kind)

            dlt.table(read, name="from_" + kind)
    """)
    outcome = project.run()
    assert outcome.errors == ()
    assert project.rows("from_json", "id") == [0, 1]
    assert project.rows("from_parquet", "id") == [1, 2]
    told = [event.message for event in project.events(outcome) if "ignoreCorruptFiles" in event.message]
    assert len(told) == 2, told
    assert all(any(name in each for each in told) for name in ("json/2.json.gz", "parquet/2.parquet"))
