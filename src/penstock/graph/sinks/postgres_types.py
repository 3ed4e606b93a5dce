"""Which type of PostgreSQL a column of Spark has, and what gets lost between two that differ."""

from __future__ import annotations

import re
from typing import Final

_PLAIN: Final = {
    "boolean": "boolean",
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamp with time zone",
    "timestamp_ntz": "timestamp without time zone",
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_CHARACTERS = re.compile(r"(var)?char\(\d+\)|string collate .*")
_ARRAY = re.compile(r"array<(?P<element>.*)>")
_TEXTS: Final = ("text", "character varying", "character", "citext", "name")
_WHOLE: Final = ("smallint", "integer", "bigint")
_FRACTIONS: Final = ("real", "double precision")
_TIMES: Final = ("timestamp with time zone", "timestamp without time zone")


def staged_type(spark_type: str) -> str | None:
    """Returns the type in which Spark hands a column over (`bigint`, `text[]`), None if it cannot.

    A table that Penstock creates has these types.
    """
    if (found := _ARRAY.fullmatch(spark_type)) is not None:
        # Spark cannot write arrays of arrays, and not of bytes and times as what they are.
        element = staged_type(found["element"])
        return None if element is None or element.endswith("[]") or element in {"bytea", *_TIMES} else f"{element}[]"
    if (decimal := _DECIMAL.fullmatch(spark_type)) is not None:
        return f"numeric({decimal[1]},{decimal[2]})"
    return "text" if _CHARACTERS.fullmatch(spark_type) else _PLAIN.get(spark_type)


def loses_in(staged: str, column: str) -> bool:
    """Whether PostgreSQL would silently cut values of one type that go into a column of another one.

    Fractions into whole numbers, times into days. A value that is too large or malformed is no silent loss.
    """
    source, target = _without_size(staged), _without_size(column)
    has_fraction = source in _FRACTIONS or (source == "numeric" and not staged.endswith(",0)"))
    if has_fraction and target in _WHOLE:
        return True
    return source in _TIMES and (target == "date" or target.startswith("time "))


def converted(value: str, staged: str, column: str, time_zone: str) -> str:
    """Returns the SQL that brings a `value` of one type into a column of another one.

    Texts are read as what the column is (`jsonb`, `uuid`, an enum); times become those of `time_zone` where the column
    has none, or are taken as such where only the column has one. Everything else is for the database to convert.
    """
    source, target = _without_size(staged), _without_size(column)
    if source in _TIMES and target in _TIMES and source != target:
        zone = time_zone.replace("'", "''")
        return f"{value} AT TIME ZONE '{zone}'"
    is_text = source.removesuffix("[]") == "text"
    if is_text and target.removesuffix("[]") not in _TEXTS:
        return f"{value}::{column}"
    return value


def _without_size(name: str) -> str:
    return re.sub(r"\([\d,]+\)", "", name)
