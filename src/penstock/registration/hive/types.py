"""The columns of a table as Hive has them: its types, and its limits."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from penstock.graph.schema.table_schema import Column
from penstock.registration.hive.thrift import Struct

_LONGEST_COMMENT: Final = 256  # what the metastore's own tables have room for
_HIVE: Final = {"timestamp_ntz": "timestamp", "timestamp_ltz": "timestamp", "null": "void", "variant": "string"}
_KNOWN: Final = frozenset(
    (
        *("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "boolean", "string", "char", "varchar"),
        *("binary", "date", "timestamp", "void", "struct", "array", "map"),
    )
)
_SHAPE: Final = re.compile(r"[\w<>:,()]+")


def hive_columns(columns: Iterable[Column]) -> list[Struct]:
    """Returns the columns as `FieldSchema`s, with names in lower case, as Hive compares them."""
    return [
        Struct({1: each.name.lower(), 2: hive_type(each.type), 3: (each.comment or "")[:_LONGEST_COMMENT] or None})
        for each in columns
    ]


def hive_type(spark_type: str) -> str:
    """Returns Hive's type for Spark's simple string; `string` for one that Hive cannot name.

    Readers that know Delta take the types of the table itself; this is for those that only list columns.
    """
    if not _SHAPE.fullmatch(spark_type):  # a field with a blank or a quote in its name, a collation
        return "string"
    found = re.sub(r"[A-Za-z_]\w*(?!\w*:)", lambda word: _HIVE.get(word[0], word[0]), spark_type).lower()
    names = [word[0] for word in re.finditer(r"[a-z_]\w*(?!\w*:)", found)]
    return found if _KNOWN.issuperset(names) else "string"
