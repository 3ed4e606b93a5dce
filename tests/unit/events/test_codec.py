from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.events.strategies import events, json_values

from penstock.errors import StateError
from penstock.events import LINE_COLUMNS, Event, EventType, Level, Origin, decode, encode

COLUMNS = (
    "id",
    "sequence",
    "origin",
    "timestamp",
    "message",
    "level",
    "maturity_level",
    "error",
    "details",
    "event_type",
)
EVENT = Event(
    id="e1",
    sequence=7,
    timestamp=datetime(2026, 11, 20, 10, tzinfo=timezone(timedelta(hours=1))),
    origin=Origin("orders", "u1"),
    level=Level.INFO,
    event_type=EventType.FLOW_PROGRESS,
    message="ä\nb",
    details={"flow_progress": {"status": "RUNNING"}},
)


@settings(max_examples=50)
@given(events)
def test_every_event_survives_the_way_to_disk_and_back(event: Event) -> None:
    line = encode(event)
    assert decode(line) == event
    assert decode(line.encode()) == event
    assert line.endswith("\n")
    assert len(line.splitlines()) == 1
    assert line.isascii()
    assert tuple(json.loads(line)) == COLUMNS


def test_spark_reads_the_same_columns() -> None:
    flat = re.sub(r"STRUCT<[^>]*>", "STRUCT", LINE_COLUMNS)
    assert tuple(column.split()[0] for column in flat.split(", ")) == COLUMNS


def test_details_are_a_json_string_and_times_are_utc_of_one_width() -> None:
    line = json.loads(encode(EVENT))
    assert line["details"] == '{"flow_progress":{"status":"RUNNING"}}'
    assert line["timestamp"] == "2026-11-20T09:00:00.000000Z"
    assert decode(encode(EVENT)).timestamp == datetime(2026, 11, 20, 9, tzinfo=UTC)


def test_what_json_cannot_hold_does_not_stop_the_log() -> None:
    details: dict[Any, Any] = {
        "a": math.nan,
        "b": [math.inf, (1,)],
        "c": PurePosixPath("/x"),
        "d": EVENT.timestamp,
        5: {1},
    }
    event = Event("e", 0, EVENT.timestamp, EVENT.origin, Level.INFO, EventType.FLOW_PROGRESS, "", details)
    assert decode(encode(event)).details == {
        "a": None,
        "b": [None, [1]],
        "c": "/x",
        "d": "2026-11-20T09:00:00.000000Z",
        "5": [1],
    }


@pytest.mark.parametrize(
    "change",
    [
        {"event_type": "of_the_future"},
        {"level": "LOUD"},
        {"details": "[]"},
        {"details": "{"},
        {"details": {}},
        {"error": "text"},
        {"origin": None},
        {"origin": {"pipeline_name": "x"}},
        {"timestamp": "yesterday"},
        {"timestamp": 5},
        {"sequence": None},
    ],
)
def test_a_foreign_line_is_refused_with_the_reason(change: dict[str, object]) -> None:
    refuse(json.dumps(json.loads(encode(EVENT)) | change))


@pytest.mark.parametrize("length", [0, 1, 50, 200])
def test_a_torn_line_is_refused(length: int) -> None:
    refuse(encode(EVENT)[:length])


@settings(max_examples=50)
@given(json_values | st.text())
def test_no_json_makes_the_decoder_raise_anything_else(value: object) -> None:
    refuse(json.dumps(value))


@given(st.binary(max_size=40))
def test_no_bytes_make_the_decoder_raise_anything_else(line: bytes) -> None:
    refuse(line)


def test_keys_of_the_future_are_ignored() -> None:
    assert decode(json.dumps(json.loads(encode(EVENT)) | {"hash": "x"})) == decode(encode(EVENT))


def refuse(line: str | bytes) -> None:
    with pytest.raises(StateError) as caught:
        decode(line)
    assert caught.value.condition == "EVENT_NOT_READABLE"
    assert caught.value.facts["reason"]


def test_half_a_surrogate_pair_is_read_back() -> None:
    """Python makes one of a byte in a file's name that is no UTF-8."""
    event = replace(EVENT, message="caf\udce9.json", details={"flow_progress": {"path": "caf\udce9.json"}})
    assert decode(encode(event)) == event
