"""The columns of an event where it is queried: those of the DLT event log, made of a line of the log.

`origin` and `error` have there what Databricks documents, also where a line says it in another way; what nothing here
has is null. `error` has the fields of a line too, so that a query need not take a message apart. SQL and Python make
the same of a line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

from penstock.events.types import Level

ORIGIN: Final[Mapping[str, str]] = {
    "cloud": "STRING",
    "region": "STRING",
    "org_id": "BIGINT",
    "user_id": "STRING",
    "pipeline_id": "STRING",
    "pipeline_type": "STRING",
    "pipeline_name": "STRING",
    "cluster_id": "STRING",
    "update_id": "STRING",
    "maintenance_id": "STRING",
    "table_id": "STRING",
    "table_name": "STRING",
    "dataset_name": "STRING",
    "sink_name": "STRING",
    "flow_id": "STRING",
    "flow_name": "STRING",
    "batch_id": "BIGINT",
    "request_id": "STRING",
    "uc_resource_id": "STRING",
    "materialization_name": "STRING",
    "host": "STRING",
}
"""The fields of `origin`, with their types in SQL."""

IN_A_LINE: Final = ("pipeline_name", "update_id", "dataset_name", "flow_name", "batch_id", "host")
"""Those that a line has."""

FRAME: Final[Mapping[str, str]] = {
    "declaring_class": "STRING",
    "method_name": "STRING",
    "file_name": "STRING",
    "line_number": "BIGINT",
}
"""The fields of an element of `error.exceptions[…].stack`."""

OWN_ERROR: Final[Mapping[str, str]] = {
    "condition": "STRING",
    "message": "STRING",
    "fix": "STRING",
    "dataset": "STRING",
    "file": "STRING",
    "line": "BIGINT",
    "facts": "STRING",
}
"""The fields of `error` in a line; `facts` is a JSON document in a string."""


def pipeline_id(pipeline_name: str) -> str:
    """Returns the id of the pipelines of a name: a UUID that stays the same."""
    return _uuid_of(pipeline_name)


def dlt_row(columns: Mapping[str, Any], *, error: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the columns of an event as SQL has them, of the columns of its line and their `error`."""
    origin = columns["origin"]
    names = [origin["pipeline_name"], origin["dataset_name"], origin["flow_name"]]
    known = {
        **origin,
        "pipeline_id": pipeline_id(origin["pipeline_name"]),
        "table_name": origin["dataset_name"],
        "flow_id": None if names[2] is None else _uuid_of("/".join(name for name in names if name is not None)),
    }
    return {**columns, "origin": {name: known.get(name) for name in ORIGIN}, "error": _error(columns["level"], error)}


def _uuid_of(text: str) -> str:
    return str(UUID(sha256(text.encode()).hexdigest()[:32]))


def _error(level: str, error: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if error is None:
        return None
    own = {name: _of_type(kind, error.get(name)) for name, kind in OWN_ERROR.items()}
    frame = {**dict.fromkeys(FRAME), "file_name": own["file"], "line_number": own["line"]}
    exception = {
        "class_name": own["condition"],
        "message": f"[{own['condition']}] {own['message']}",
        "stack": None if own["file"] is None else [frame],  # `stack[0]` of an empty one ends a query
    }
    return {"fatal": level == Level.ERROR.value, "exceptions": [exception], **own}


def _of_type(kind: str, value: Any) -> Any:
    if kind == "BIGINT":
        return value if isinstance(value, int) else None
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def sql_columns() -> list[str]:
    """Returns the columns as expressions of Spark SQL over the columns of a line."""
    names = "concat_ws('/', origin.pipeline_name, origin.dataset_name, origin.flow_name)"
    known = {
        **{name: f"origin.{name}" for name in IN_A_LINE},
        "pipeline_id": _uuid("origin.pipeline_name"),
        "table_name": "origin.dataset_name",
        "flow_id": f"IF(origin.flow_name IS NULL, NULL, {_uuid(names)})",
    }
    frame = _struct({**_nulls(FRAME), "file_name": "error.file", "line_number": "error.line"})
    exception = _struct(
        {
            "class_name": "error.condition",
            "message": "concat('[', error.condition, '] ', error.message)",
            "stack": f"IF(error.file IS NULL, NULL, array({frame}))",
        }
    )
    error = {"fatal": f"level = '{Level.ERROR.value}'", "exceptions": f"array({exception})"}
    error |= {name: f"error.{name}" for name in OWN_ERROR}
    return [
        "id",
        "sequence",
        f"{_struct({**_nulls(ORIGIN), **known})} AS origin",
        *("timestamp", "message", "level", "maturity_level"),
        f"IF(error IS NULL, NULL, {_struct(error)}) AS error",
        *("details", "event_type"),
    ]


def _nulls(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: f"CAST(NULL AS {kind})" for name, kind in fields.items()}


def _struct(fields: Mapping[str, str]) -> str:
    return "named_struct(" + ", ".join(f"'{name}', {value}" for name, value in fields.items()) + ")"


def _uuid(text: str) -> str:
    """Returns what `_uuid_of` does, as an expression."""
    digits = f"substr(sha2({text}, 256), 1, 32)"
    return f"regexp_replace({digits}, '(.{{8}})(.{{4}})(.{{4}})(.{{4}})(.{{12}})', '$1-$2-$3-$4-$5')"
