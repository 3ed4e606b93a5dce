"""Lines of JSON that Penstock's Java classes parse: the same rows and columns as Spark's own functions give.

But for the characters of the numbers in a text, which Spark's functions write again.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession
from tests.spark.auto_loader.conftest import Landing

from penstock.spark.sources.auto_loader import load_files
from penstock.spark.sources.auto_loader.formats import json_lines

Build = Callable[..., Landing]

NAMES = ("id", "id", "name", "name", "who", "list", "map", "at", "ID", "new", "it's", "naïve", "a.b", "")
SCHEMA = (
    "id INT, name STRING, who STRUCT<id: BIGINT, name: STRING, list: ARRAY<INT>>, list ARRAY<STRUCT<id: DOUBLE>>, "
    "map MAP<STRING, STRUCT<id: DECIMAL(4,1)>>, at TIMESTAMP"
)
ODD_LINES = (
    b'{"id": 1}{"id": 2}', b'{"id": 1}{}', b'{"id": 1}, {"id": 2}', b'{"id": 1},', b'{"id": 1} x', b"[]", b"{}", b"[1]",
    b'[{"id": 1}]', b'[{"id": 1}, {"id": 2}]', b'{"id": 1, "id": 2}', b'{"id": 1, "id": 2, "new": 3}', b"null", b"7",
    b'"x"', b"{'id': 1}", b'{"id": 01}', b'{"id": ', b'  {"id": 3}  ', b"   ", b'\xef\xbb\xbf{"id": 4}',
    b'{"name": "\xff"}', b'{"name": "\xed\xa0\x80"}', b'{"name": "\xc0\x80"}', b'{"n\xff": 1}', b"\x00{\x00}\x00 ",
    b'{"\\u006ed": 1}', b'{"\\u0069d": 1}', b'{"name": 1.50}', b'{"name": 1.5e-7}', b'{"name": {"a" : [1.50, "x" ]}}',
    b'{"id": 123456789012345678901234567890}', b'{"id": 1, "new": null}', b'{"new": ""}', b"{ }", b'{"id":1}\t',
    b'{"who": {"id": 1, "New": {"x": [1]}}}', b'{"list": [{"id": 1}, {"id": 2, "y": 3}]}', b'{"map": {"k": {"z": 1}}}',
)  # fmt: skip


class WithoutOwnClasses:
    """py4j's view of the JVM of a session that has none of Penstock's classes."""

    def __init__(self, spark: SparkSession) -> None:
        self._view = spark._jvm

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, "nothing" if name == "penstock" else name)


@pytest.mark.parametrize(
    "settings",
    [
        {"inferColumnTypes": "true"},
        {"schema": SCHEMA, "schemaEvolutionMode": "rescue"},
        pytest.param({}, marks=pytest.mark.slow),
        pytest.param({"inferColumnTypes": "true", "prefersDecimal": "true"}, marks=pytest.mark.slow),
        pytest.param({"inferColumnTypes": "true", "inferTimestamp": "true"}, marks=pytest.mark.slow),
        pytest.param({"inferColumnTypes": "true", "primitivesAsString": "true"}, marks=pytest.mark.slow),
        pytest.param({"inferColumnTypes": "true", "dropFieldIfAllNull": "true"}, marks=pytest.mark.slow),
        pytest.param({"schema": SCHEMA, "rescuedDataColumn": "_lost", "mode": "DROPMALFORMED"}, marks=pytest.mark.slow),
    ],
)
def test_rows_and_columns_are_those_of_sparks_own_functions(
    spark: SparkSession, landing: Build, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    it = landing(**settings)
    made = random.Random(7)
    lines = [*ODD_LINES, *(_line(made) for _ in range(400))]
    made.shuffle(lines)
    for name in (name for name in settings if name in SPARK_OPTIONS):
        it.options[name] = it.options.pop(f"cloudFiles.{name}")
    for file in range(4):
        (it.files / f"{file}.json").write_bytes(b"\n".join(lines[file::4]) + b"\n")
    ours = load_files(spark, it.read())
    monkeypatch.setattr(json_lines, "jvm", WithoutOwnClasses)
    sparks = load_files(spark, it.read())
    assert ours.schema.simpleString() == sparks.schema.simpleString()
    assert sorted(map(_comparable, ours.collect())) == sorted(map(_comparable, sparks.collect()))


SPARK_OPTIONS = {"prefersDecimal", "inferTimestamp", "primitivesAsString", "dropFieldIfAllNull"}


def _comparable(row: Row) -> str:
    return repr([_read(value) if isinstance(value, str) else value for value in row])


def _read(text: str) -> object:
    """What a JSON text says, whatever the order of the fields."""
    try:
        found = json.loads(text, parse_int=_number, parse_float=_number)
    except ValueError:
        return text
    return json.dumps(found, sort_keys=True)


def _number(text: str) -> str:
    return repr(float(text) + 0.0)


def _line(made: random.Random) -> bytes:
    text = json.dumps(_object(made, 0), ensure_ascii=made.random() < 0.5).encode()
    return text[: made.randrange(len(text))] if made.random() < 0.05 else text


def _object(made: random.Random, depth: int) -> dict[str, object]:
    return {made.choice(NAMES): _value(made, depth + 1) for _ in range(made.randrange(1, 5))}


def _value(made: random.Random, depth: int) -> object:
    match made.randrange(12 if depth < 3 else 8):
        case 0:
            return None
        case 1:
            return made.choice((True, False))
        case 2 | 3:
            return made.choice((0, -7, 2**31, 10**18, 2**70))
        case 4:
            return made.choice((0.5, 1.25, 100.125, -0.0))
        case 5 | 6 | 7:
            return made.choice(("", "x", "a:b", 'quote " \\', "é😀", "2026-01-01T08:00:00Z", "1.5", "{"))
        case 8 | 9:
            return _object(made, depth)
        case _:
            return [_value(made, depth + 1) for _ in range(made.randrange(3))]
