"""The quarantine of a table: a table beside it that keeps the rows which break a quarantining expectation.

Its name, its place and its columns; which datasets of a pipeline have one is in `quarantining.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from penstock.graph.identifier import Identifier
from penstock.graph.schema.table_schema import Schema

RESERVED_PREFIX = "_quarantine_"
"""What the quarantine's own columns begin with; no column of a table with a quarantine may."""

ROW_ID = "_quarantine_id"
RULES = "_quarantine_rules"
FLOW = "_quarantine_flow"
BATCH = "_quarantine_batch_id"
TIME = "_quarantine_time"
SOURCE = "_quarantine_source"
REPLAY = "_quarantine_replay"

_SUFFIX = "__quarantine"
_COORDINATES = {"file_path": "string", "topic": "string", "partition": "integer", "offset": "long"}
_OWN_TYPES: dict[str, Any] = {
    ROW_ID: "string",
    RULES: {"type": "array", "elementType": "string", "containsNull": True},
    FLOW: "string",
    BATCH: "long",
    TIME: "timestamp",
    SOURCE: {
        "type": "struct",
        "fields": [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in _COORDINATES.items()],
    },
    REPLAY: "string",
}


def quarantine_of(table: Identifier) -> Identifier:
    """Returns the name of a table's quarantine, whether or not it has one."""
    return replace(table, name=table.name + _SUFFIX)


def owner_of(quarantine: Identifier) -> Identifier | None:
    """Returns the name of the table whose quarantine would be called so; None when no quarantine is called so."""
    if not quarantine.name.casefold().endswith(_SUFFIX) or len(quarantine.name) == len(_SUFFIX):
        return None
    return replace(quarantine, name=quarantine.name[: -len(_SUFFIX)])


def quarantine_path(table_path: str) -> str:
    """Returns where the quarantine of the table at `table_path` is stored: the folder beside it."""
    return table_path.rstrip("/") + _SUFFIX


def quarantine_schema(queries: Iterable[Schema]) -> Schema:
    """Returns the columns of a quarantine: those of all queries that fill the table by name, then its own.

    Of a column that several have, the first one counts; one with a name of the quarantine's own is passed over. Every
    column is nullable and without metadata, because nothing can be demanded of rows that are wrong.
    """
    fields: dict[str, dict[str, Any]] = {}
    for query in queries:
        for field in json.loads(query.json)["fields"]:
            if not (name := field["name"].casefold()).startswith(RESERVED_PREFIX):
                fields.setdefault(name, {**field, "nullable": True, "metadata": {}})
    own = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in _OWN_TYPES.items()]
    return Schema(json.dumps({"type": "struct", "fields": [*fields.values(), *own]}))
