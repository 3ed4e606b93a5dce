"""JSON numbers: a text has their characters, and digits that a column does not take are rescued."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from tests.spark.auto_loader.conftest import Landing
from tests.spark.pipeline_project import PipelineProject

from penstock.spark.sources.auto_loader import load_files
from penstock.spark.sources.stream_read import StreamRead

Build = Callable[..., Landing]

NUMBERS = {
    "amount": "123456789012345678.123456789",
    "code": "1.10",
    "huge": "1e400",
    "id": "-0",
    "long": "0.1234567890123456789012345678901234567890",
    "price": "12345678.90",
}
RECORD = "{" + ", ".join(f'"{name}": {text}' for name, text in NUMBERS.items()) + "}"
DEEP = '{"deep": {"x": 1.10, "l": [1e400, 12345678.90], "s": "\\u00e9 \\/"}}'
DEEP_TEXT = '{"x":1.10,"l":[1e400,12345678.90],"s":"é /"}'


@pytest.mark.parametrize(
    ("content", "multi_line"),
    [
        (f"{RECORD}\n", "false"),
        (f"[{RECORD}, {RECORD}]\n", "false"),
        (f"\n[\n{RECORD},\n{RECORD}]", "true"),
        (RECORD.replace(", ", ",\n"), "true"),
    ],
    ids=["lines", "array in a line", "array", "object"],
)
def test_a_column_of_texts_has_the_characters_of_the_number(landing: Build, content: str, multi_line: str) -> None:
    it = landing(multiLine=multi_line)
    it.put("1.json", content)
    rows = {row[:-1] for row in _rows(it)}
    assert rows == {tuple(NUMBERS.values())}
    assert [row[-1] for row in _rows(it)] == [None] * (2 if "[" in content else 1)


def test_texts_inside_of_values_have_the_characters_too(landing: Build) -> None:
    it = landing(schemaHints="m MAP<STRING, STRING>, s STRUCT<a: STRING, b: ARRAY<STRING>>")
    it.put(
        "1.json", DEEP[:-1] + ', "m": {"k": 1.10, "o": {"y" : 1e400}}, "s": {"a": 12345678.90, "b": [1e400, [1.10]]}}\n'
    )
    row = load_files(it.spark, it.read()).collect()[0].asDict(recursive=True)
    assert row == {
        "deep": DEEP_TEXT,
        "m": {"k": "1.10", "o": '{"y":1e400}'},
        "s": {"a": "12345678.90", "b": ["1e400", "[1.10]"]},
        "_rescued_data": None,
    }


def test_rescued_numbers_have_their_characters(landing: Build) -> None:
    it = landing(schema="code STRUCT<a: INT>, deep STRUCT<x: BOOLEAN>, huge DOUBLE", schemaEvolutionMode="rescue")
    it.put("1.json", f"{RECORD[:-1]}, {DEEP[1:]}\n")
    row = load_files(it.spark, it.read()).collect()[0]
    assert row["code"] is row["huge"] is row["deep"]["x"] is None
    text = row["_rescued_data"].partition(',"_file_path"')[0] + "}"
    assert {name: text.count(f'"{name}":{number}') for name, number in NUMBERS.items()} == dict.fromkeys(NUMBERS, 1)
    assert f'"deep":{DEEP_TEXT}' in text


def test_digits_that_a_decimal_or_a_double_does_not_take_are_rescued(landing: Build) -> None:
    hints = "a DECIMAL(38,9), b STRUCT<c: ARRAY<DECIMAL(38,9)>>, m MAP<STRING, DECIMAL(20,1)>, d DOUBLE, n DOUBLE"
    it = landing(schemaHints=hints)
    many = "0.1234567890123456789"
    lines = {
        f'{{"a":{many}}}': ("a", Decimal("0.123456789"), many),
        f'{{"a":"{many}"}}': ("a", Decimal("0.123456789"), f'"{many}"'),
        '{"a":1e-999999999}': ("a", Decimal("0.000000000"), "1e-999999999"),
        '{"a":1e999999999}': ("a", None, "1e999999999"),
        f'{{"b":{{"c":[1,{many}]}}}}': (
            "b",
            {"c": [Decimal("1.000000000"), Decimal("0.123456789")]},
            f'{{"c":[1,{many}]}}',
        ),
        '{"m":{"k":1.20000000000000000000001}}': ("m", {"k": Decimal("1.2")}, '{"k":1.20000000000000000000001}'),
        '{"d":9007199254740993}': ("d", 9007199254740992.0, "9007199254740993"),
        '{"d":123456789012345678.123456789}': ("d", 123456789012345680.0, "123456789012345678.123456789"),
        '{"d":1e400}': ("d", None, "1e400"),
    }
    fitting = {
        '{"a":0.10000000000000000000}': ("a", Decimal("0.1"), None),
        '{"d":0.1234567890123456789}': ("d", 0.12345678901234568, None),
        '{"d":1.2345678901234567e+25}': ("d", 1.2345678901234567e25, None),
        '{"d":36028797018963968}': ("d", 2.0**55, None),
    }
    it.put("1.json", "".join(f"{line}\n" for line in (lines | fitting)))
    rows = [row.asDict(recursive=True) for row in load_files(it.spark, it.read()).collect()]
    for row, (line, (name, value, rescued)) in zip(rows, (lines | fitting).items(), strict=True):
        text = None if rescued is None else f'{{"{name}":{rescued},"_file_path"'
        assert row[name] == value, line
        assert (row["_rescued_data"] and row["_rescued_data"][: len(text or "")]) == text, line


def test_numbers_with_an_exponent_are_inferred_as_decimals(landing: Build) -> None:
    it = landing(inferColumnTypes="true")
    it.options["prefersDecimal"] = "true"
    it.put("1.json", '{"a": 1e5, "b": 12345678.90, "c": 1e400, "d": 1}\n{"a": -1.25E2, "d": 2e0}\n')
    frame = load_files(it.spark, it.read())
    assert dict(frame.dtypes) == {
        "a": "decimal(7,1)", "b": "decimal(10,2)", "c": "double", "d": "decimal(20,0)", "_rescued_data": "string"
    }  # fmt: skip
    assert [(row["a"], row["d"]) for row in frame.collect()] == [(100000, 1), (-125, 2)]


# Slow: the mark of UTF-16 has two orders; test_csv_records.py has files in both.
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", pytest.param("utf-16-be", marks=pytest.mark.slow)])
def test_a_byte_order_mark_is_no_part_of_a_file(landing: Build, encoding: str) -> None:
    it = landing()
    records = ['{"id": 1, "name": "é"}', '{"id": 2, "name": "b"}']
    for place, end in (("lines", "\n"), ("multi", ",\n")):
        text = f"[{end.join(records)}]" if place == "multi" else end.join(records)
        (it.files / place).mkdir()
        (it.files / place / "1.json").write_bytes(("\ufeff" + text).encode(encoding))
    name = encoding.upper().replace("-LE", "LE").replace("-BE", "BE")
    read = it.read()
    for place, options in (
        ("lines", {"encoding": name}),
        ("lines", {"encoding": "UTF-16"} if "16" in encoding else {}),
        ("multi", {"multiLine": "true"}),
        ("multi", {"multiLine": "true", "encoding": name}),
        ("multi", {"multiLine": "true", "encoding": "UTF-16"} if "16" in encoding else {"multiLine": "true"}),
    ):
        for schema in (None, "id STRING, name STRING"):
            it.options = {**read.options, **options}
            it.schema = schema
            frame = load_files(it.spark, StreamRead("cloudFiles", it.options, schema, str(it.files / place)))
            assert [tuple(row[:2]) for row in frame.collect()] == [("1", "é"), ("2", "b")], (place, options, schema)


def test_a_batch_that_is_written_again_and_sql_give_the_same_texts(project: PipelineProject) -> None:
    (project.directory / "in").mkdir()
    (project.directory / "in" / "1.json").write_text(f"{RECORD}\n")
    hints = "schemaHints => 'amount STRING, code DECIMAL(38,1), price DECIMAL(38,1)'"
    project.write(
        f"""
        @dlt.table
        def loaded():
            return spark.sql("SELECT * FROM STREAM read_files('in', format => 'json', {hints})")

        @dlt.table
        def texts():
            return spark.sql("SELECT * FROM cloud_files('in', 'json')")
        """
    )
    for _ in range(2):
        assert project.run().errors == ()
        assert project.rows("texts", *NUMBERS) == [tuple(NUMBERS.values())]
        assert project.rows("loaded", "amount", "code", "price") == [
            (NUMBERS["amount"], Decimal("1.1"), Decimal("12345678.9"))
        ]
        for commits in (project.directory / ".penstock" / "checkpoints").rglob("commits"):
            shutil.rmtree(commits)  # the process died between the commit of the table and that of the batch


def _rows(it: Landing) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in load_files(it.spark, it.read()).collect()]
