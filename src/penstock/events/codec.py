r"""One event as one line of JSON.

The keys of a line, always in this order:

    id              string    unique within the log
    sequence        integer   grows by one within a log, across updates
    origin          object    {pipeline_name, update_id, dataset_name, flow_name, batch_id, host}
    timestamp       string    UTC, microseconds, ISO 8601 with `Z`: sorts as text
    message         string    one line for a person
    level           string    INFO | WARN | ERROR | METRICS
    maturity_level  string    STABLE | EVOLVING | …
    error           object    {condition, message, fix, …} or null
    details         string    a JSON document in a string: {"<event_type>": {…}}
    event_type      string    create_update | … | flow_progress

`details` is a string so that its shape may differ per event while the columns stay fixed; SQL
reads it with JSON functions, such as get_json_object(details, '$.flow_progress.status'). Lines are
ASCII (everything else as \u escapes) and end with one newline; a line without a newline was torn by
a crash and is no event. `LINE_COLUMNS` is the schema with which Spark reads the segments; keep
`WHERE id IS NOT NULL` beside it to leave out a torn line. What queries see is made of them, see `dlt_columns`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import from_json

from penstock.errors import StateError
from penstock.events.types import Event, EventType, Level, Origin

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LINE_COLUMNS: Final = (
    "id STRING, sequence BIGINT, "
    "origin STRUCT<pipeline_name: STRING, update_id: STRING, dataset_name: STRING, flow_name: STRING, "
    "batch_id: BIGINT, host: STRING>, "
    "timestamp TIMESTAMP, message STRING, level STRING, maturity_level STRING, "
    "error STRUCT<condition: STRING, message: STRING, fix: STRING, dataset: STRING, file: STRING, line: BIGINT, "
    "facts: STRING>, "
    "details STRING, event_type STRING"
)

NO_DATASET: Final = b'"dataset_name":null'
"""Part of the line of an event that is about no dataset."""

_EVENT_TYPES: Final = {member.value: member for member in EventType}
_LEVELS: Final = {member.value: member for member in Level}


def encode(event: Event) -> str:
    """Returns the event's line, newline included.

    Numbers that JSON cannot hold (NaN, infinities) become null and unknown objects their text:
    writing the log never fails over what a metric contains.
    """
    return json_text({**columns_of(event), "timestamp": format_timestamp(event.timestamp)}) + "\n"


def columns_of(event: Event) -> dict[str, Any]:
    """Returns the columns of an event in their order; `error` is an object and `timestamp` a datetime."""
    origin = event.origin
    return {
        "id": event.id,
        "sequence": event.sequence,
        "origin": {
            "pipeline_name": origin.pipeline_name,
            "update_id": origin.update_id,
            "dataset_name": origin.dataset_name,
            "flow_name": origin.flow_name,
            "batch_id": origin.batch_id,
            "host": origin.host,
        },
        "timestamp": event.timestamp,
        "message": event.message,
        "level": event.level.value,
        "maturity_level": event.maturity_level,
        "error": None if event.error is None else json_ready(event.error),
        "details": json_text(json_ready(event.details)),
        "event_type": event.event_type.value,
    }


def line_end(event_type: EventType) -> bytes:
    """Returns how the lines of a type end, without their newline."""
    return f'"event_type":"{event_type.value}"}}'.encode()


def as_dict(event: Event) -> dict[str, Any]:
    """Returns the event as the user's hooks get it: the columns of its line, but `details` as a dict."""
    line: dict[str, Any] = json.loads(encode(event))
    line["details"] = json.loads(line["details"])
    return line


def decode(line: str | bytes) -> Event:
    """Returns the event that `encode` wrote.

    Keys that this version does not know are ignored.

    Raises:
        StateError: EVENT_NOT_READABLE; the line is torn, foreign or of a newer version.
    """
    try:
        value = _parsed(line)
        origin = value["origin"]
        details = _parsed(value["details"])
        error = value["error"]
        if not isinstance(details, dict) or not isinstance(error, dict | None):
            raise TypeError("details and error must be objects")  # noqa: TRY301 - one way out for a bad line
        return Event(
            id=str(value["id"]),
            sequence=int(value["sequence"]),
            timestamp=datetime.fromisoformat(value["timestamp"]).astimezone(UTC),
            origin=Origin(
                pipeline_name=str(origin["pipeline_name"]),
                update_id=str(origin["update_id"]),
                dataset_name=origin.get("dataset_name"),
                flow_name=origin.get("flow_name"),
                batch_id=origin.get("batch_id"),
                host=origin.get("host"),
            ),
            level=_LEVELS[value["level"]],
            event_type=_EVENT_TYPES[value["event_type"]],
            message=str(value["message"]),
            details=details,
            error=error,
            maturity_level=str(value.get("maturity_level", "STABLE")),
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise StateError("EVENT_NOT_READABLE", reason=f"{type(error).__name__}: {error}") from error


def format_timestamp(moment: datetime) -> str:
    """Returns `moment` in UTC as `2026-11-20T09:00:00.000000Z`; the width never changes."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def json_ready(value: Any) -> Any:
    """Returns `value` with only what JSON can hold; see `encode`."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Mapping():
            return {str(key): json_ready(item) for key, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [json_ready(item) for item in value]
        case datetime():
            return format_timestamp(value)
        case Enum():
            return json_ready(value.value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return value.to_json() if hasattr(value, "to_json") else fields_to_json(value)
        case _:
            return str(value)


def fields_to_json(record: DataclassInstance) -> dict[str, Any]:
    """Returns the fields of a dataclass by name: enums by their values, times as text, dataclasses as objects."""
    return {field.name: json_ready(getattr(record, field.name)) for field in fields(record)}


def _parsed(text: str | bytes) -> Any:
    try:
        return from_json(text, cache_strings="keys")  # in less than half the time of Python's own
    except ValueError:
        return json.loads(text)  # which takes half a surrogate pair, as names of files can have it


def json_text(value: Any) -> str:
    """Returns what `json_ready` gives as the log has it: ASCII, without spaces."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
