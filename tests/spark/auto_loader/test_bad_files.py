"""Files that are empty, compressed, huge, damaged or in another encoding: nothing is lost, or the run says so."""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
from collections.abc import Callable

import pyarrow as pa
import pytest
from tests.spark.auto_loader.conftest import Landing

Build = Callable[..., Landing]


def _json(number: int, encoding: str = "utf-8") -> bytes:
    return (json.dumps({"id": number, "name": "Zoë"}, ensure_ascii=False) + "\n").encode(encoding)


def _csv(number: int, encoding: str = "utf-8") -> bytes:
    return f"id,name\n{number},Zoë\n".encode(encoding)


_CONTENT = pytest.mark.parametrize(("source_format", "content"), [("json", _json), ("csv", _csv)])


@_CONTENT
def test_empty_files_marks_line_ends_and_compression(
    landing: Build, source_format: str, content: Callable[[int], bytes]
) -> None:
    it = landing(source_format, schemaHints="id INT")
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
    it.run()
    assert it.rows("id", "name", "_rescued_data") == [(number, "Zoë", None) for number in range(1, 8)]


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
    assert it.table.where("id = 1 AND _rescued_data IS NULL").count() == 1
    assert it.table.where("id IS NULL AND _rescued_data LIKE '%_corrupt_record%2.json%'").count() >= 1
