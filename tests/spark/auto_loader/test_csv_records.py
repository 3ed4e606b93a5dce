"""CSV files with different headers: records are whole, whatever their dialect, line ends and encoding."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tests.spark.auto_loader.conftest import Landing

from penstock.spark.sources.auto_loader import load_files
from penstock.spark.sources.stream_read import StreamRead

Build = Callable[..., Landing]

# The options of Spark's reader, the line end, and how a quote is written inside of quotes.
DIALECTS = [
    ({}, "\r\n", '\\"'),
    ({"sep": "||", "escape": '"'}, "\n", '""'),
    ({"sep": "\\t", "lineSep": "|"}, "|", '\\"'),
    ({"comment": "#", "ignoreLeadingWhiteSpace": "true"}, "\n", '\\"'),
    # Slow: each is half of one above.
    pytest.param({}, "\n", '\\"', marks=pytest.mark.slow),
    pytest.param({}, "\r", '\\"', marks=pytest.mark.slow),
    pytest.param({"escape": '"'}, "\n", '""', marks=pytest.mark.slow),
    pytest.param({"sep": ";", "quote": "'"}, "\n", "\\'", marks=pytest.mark.slow),
]


def _rows(spark: SparkSession, folder: Path, **options: str) -> list[tuple[object, ...]]:
    frame = load_files(spark, StreamRead("cloudFiles", {"cloudFiles.format": "csv", **options}, None, str(folder)))
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def _written(values: list[str], options: dict[str, str], escaped: str) -> str:
    quote, separator = options.get("quote", '"'), options.get("sep", ",").replace("\\t", "\t")
    return separator.join(f"{quote}{value.replace(quote, escaped)}{quote}" for value in values)


@pytest.mark.parametrize(("options", "end", "escaped"), DIALECTS)
def test_quoted_values_that_span_lines_are_whole_under_several_headers(
    spark: SparkSession, tmp_path: Path, options: dict[str, str], end: str, escaped: str
) -> None:
    chosen = random.Random(7)
    texts = ["".join(chosen.choices("ab\"',;|# \t" + end, k=9)) + "z" for _ in range(40)]
    records = [(str(key), "x" + texts[2 * key], texts[2 * key + 1]) for key in range(20)]
    headers = {"id": 0, f"a{end}b": 1, "c": 2}
    for file, names in enumerate((["id", f"a{end}b", "c"], ["c", "id", f"a{end}b"])):
        lines = [_written(names, options, escaped), ""]
        lines += [_written([record[headers[name]] for name in names], options, escaped) for record in records[file::2]]
        lines += ["# it's \"a comment", ""] if "comment" in options else []
        (tmp_path / f"{file}.csv").write_text(end.join(lines), newline="")
    found = _rows(spark, tmp_path, multiLine="true", **{"cloudFiles.schemaHints": "id INT"}, **options)
    assert found == sorted(((int(key), a, c, None) for key, a, c in records), key=repr)


def test_a_long_record_is_one_value(spark: SparkSession, tmp_path: Path) -> None:
    text = 'line\n\\"' * 200_000
    (tmp_path / "1.csv").write_text(f'id,note\n1,"{text}"\n')
    (tmp_path / "2.csv").write_text("note,id\nb,2\n")
    rows = _rows(spark, tmp_path, multiLine="true")
    assert rows == [("1", text.replace("\\", ""), None), ("2", "b", None)]


def test_the_second_parse_of_typed_columns_takes_any_dialect(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("# first\nid;n;day\n1;NA;24.12.2026\n#2;3;4\n5;' 6';x\n")
    (tmp_path / "2.csv").write_text("day;n;NA;id;\n31.12.2026;7;q;8;\n")
    options = {"sep": ";", "comment": "#", "quote": "'", "nullValue": "NA", "dateFormat": "dd.MM.yyyy"}
    hints = {"cloudFiles.schemaHints": "id INT, n INT, day DATE"}
    rows = [tuple(map(str, row)) for row in _rows(spark, tmp_path, **options, **hints)]
    assert [row[:5] for row in rows] == [
        ("1", "None", "2026-12-24", "None", "None"),
        ("5", "None", "None", "None", "None"),
        ("8", "7", "2026-12-31", "q", "None"),
    ]
    rescued = json.loads(rows[1][5])
    assert (rescued["n"], rescued["day"]) == (" 6", "x")
    assert len(_rows(spark, tmp_path, mode="DROPMALFORMED", **options, **hints)) == 2
    with pytest.raises(PySparkException, match="PENSTOCK_MALFORMED_RECORD"):
        _rows(spark, tmp_path, mode="FAILFAST", **options, **hints)


def test_line_separator_and_names_with_quotes(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text('id,"a\\"b",|1,x,y|')
    (tmp_path / "2.csv").write_text('"a\\"b",id|z,2|')
    assert _rows(spark, tmp_path, lineSep="|") == [("1", "x", "y", None), ("2", "z", None, None)]


# Slow: records that span lines are found in the whole file, whose mark the records above have too.
@pytest.mark.parametrize("multi_line", ["false", pytest.param("true", marks=pytest.mark.slow)])
def test_a_byte_order_mark_is_no_part_of_a_name(spark: SparkSession, tmp_path: Path, multi_line: str) -> None:
    text = {1: "id,ä\n1,a\n", 2: "ä,id\nb,2\n", 3: '"ä",id\nc,3\n', 4: "id,ä\n4,d\n", 5: "ä,id\n字ਊ,5\n"}
    for number, encoding in enumerate(("utf-8", "utf-8-sig", "utf-8-sig", "utf-16-le", "utf-16-be"), 1):
        mark = "\ufeff" if "16" in encoding else ""
        (tmp_path / f"{number}.csv").write_bytes((mark + text[number]).encode(encoding))
    rows = _rows(spark, tmp_path, multiLine=multi_line, **{"cloudFiles.inferColumnTypes": "true"})
    assert rows == [(1, "a", None), (2, "b", None), (3, "c", None), (4, "d", None), (5, "字ਊ", None)]


# Slow: UTF-16 without a mark is read as UTF-16BE.
@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-16LE", pytest.param("UTF-16BE", marks=pytest.mark.slow)])
def test_files_in_utf16_with_and_without_a_mark(spark: SparkSession, tmp_path: Path, encoding: str) -> None:
    python = {"UTF-16": "utf-16-be"}.get(encoding, encoding)
    (tmp_path / "1.csv").write_bytes("id,ä\n1,a\n2,ਊ\n".encode(python))
    (tmp_path / "2.csv").write_bytes("\ufeffid,ä\r\n3,c\r\n".encode(python))
    rows = _rows(spark, tmp_path, encoding=encoding, **{"cloudFiles.inferColumnTypes": "true"})
    assert rows == [(1, "a", None), (2, "ਊ", None), (3, "c", None)]


def test_a_file_in_utf16_that_comes_later_is_read_by_its_mark(landing: Build) -> None:
    it = landing("csv")
    it.put("1.csv", "id,n\n1,a\n")
    it.run()
    (it.files / "2.csv").write_bytes("\ufeffid,n\n2,b\n".encode("utf-16-le"))
    it.put("3.csv", "\ufeffn,id\nc,3\n")
    it.run()
    assert it.rows() == [("1", "a", None), ("2", "b", None), ("3", "c", None)]


def test_types_do_not_depend_on_how_a_header_is_written(spark: SparkSession, tmp_path: Path) -> None:
    for number, header in enumerate(("id,n", '"id","n"', 'id,"n"', "\ufeffid,n", "\n\nid,n", "id,n,")):
        (tmp_path / f"{number}.csv").write_text(f"{header}\n{number},{number}.5\n")
    rows = _rows(spark, tmp_path, **{"cloudFiles.inferColumnTypes": "true"})
    assert [row[:2] for row in rows] == [(number, number + 0.5) for number in range(6)]
