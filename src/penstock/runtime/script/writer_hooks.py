"""Lets the queries that a script starts reach Penstock: hooks on PySpark's writer of streams."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.declare.user_frames import caller_location
from penstock.errors import SourceLocation
from penstock.runtime.script.stream_write import StreamWrite
from penstock.spark.reading.method_hooks import hook, hooked
from penstock.spark.reading.recorded_options import (
    recorded_options,
    remember_calls,
    remember_option,
    remember_options,
)

Start = Callable[[StreamWrite], StreamingQuery]
"""Called for each query that the script starts."""

HandOn = Callable[[DataStreamWriter, StreamWrite], StreamingQuery]

_ours: ContextVar[bool] = ContextVar("penstock_starts_a_query", default=False)


@contextmanager
def bypass_writer_hooks() -> Iterator[None]:
    """Inside, PySpark's writer does what PySpark does."""
    token = _ours.set(True)
    try:
        yield
    finally:
        _ours.reset(token)


@contextmanager
def hooked_writers(start: Start, locate: Callable[[], SourceLocation]) -> Iterator[list[SourceLocation]]:
    """Hands each `start` and `toTable` to `start`; yields the places of writers that were made and not started yet.

    `locate` returns the line of the script that is running.
    """
    waiting: list[SourceLocation] = []

    def hand_on(writer: DataStreamWriter, write: StreamWrite) -> StreamingQuery:
        if (made := recorded_options(writer).pop("made", None)) in waiting:
            waiting.remove(made)
        return start(replace(write, location=locate()))

    _remember_writes()
    with (
        hooked(DataStreamWriter, "__init__", functools.partial(_notice, waiting, locate)),
        hooked(DataStreamWriter, "foreach", functools.partial(_keep, "foreach")),
        hooked(DataStreamWriter, "foreachBatch", functools.partial(_keep, "foreachBatch")),
        hooked(DataStreamWriter, "start", functools.partial(_start, "start", hand_on)),
        hooked(DataStreamWriter, "toTable", functools.partial(_start, "toTable", hand_on)),
    ):
        yield waiting


@functools.cache
def _remember_writes() -> None:
    """Records what is said to a writer: PySpark keeps it only on the Java side. Hooked once in this process."""
    remember_calls(DataStreamWriter, "format", "outputMode", "queryName")
    remember_options(DataStreamWriter, lambda _key, value: value)
    for method in ("partitionBy", "clusterBy"):
        hook(DataStreamWriter, method, functools.partial(_remember_columns, method))
    hook(DataStreamWriter, "trigger", _remember_trigger)


def script_location(root: Any) -> Callable[[], SourceLocation]:
    """Returns a function that gives the innermost line under `root` that is running in this thread."""
    return functools.partial(caller_location, root)


def _notice(
    waiting: list[SourceLocation], locate: Callable[[], SourceLocation], original: Any, writer: Any, frame: Any
) -> None:
    original(writer, frame)
    recorded_options(writer)["frame"] = frame
    if not _ours.get():
        waiting.append(locate())
        recorded_options(writer)["made"] = waiting[-1]


def _remember_columns(key: str, original: Any, writer: Any, *columns: Any) -> Any:
    several = len(columns) == 1 and isinstance(columns[0], (list, tuple))
    recorded_options(writer)[key] = tuple(columns[0]) if several else columns
    return original(writer, *columns)


def _remember_trigger(original: Any, writer: Any, **how: Any) -> Any:
    result = original(writer, **how)
    recorded_options(writer)["trigger"] = {kind: value for kind, value in how.items() if value is not None}
    return result


def _keep(key: str, original: Any, writer: Any, function: Any) -> Any:
    """PySpark hands the function to the JVM at once; Penstock does when it starts the query."""
    if _ours.get():
        return original(writer, function)
    recorded_options(writer)[key] = function
    return writer


def _start(method: str, hand_on: HandOn, original: Any, writer: Any, *arguments: Any, **named: Any) -> StreamingQuery:
    if _ours.get():
        query: StreamingQuery = original(writer, *arguments, **named)
        return query
    return hand_on(writer, _write(method, writer, arguments, named))


def _write(method: str, writer: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> StreamWrite:
    """Reads `start(path, format, outputMode, partitionBy, queryName, **options)`, or the same of `toTable`."""
    place = "path" if method == "start" else "tableName"
    given = {**dict(zip((place, "format", "outputMode", "partitionBy", "queryName"), arguments, strict=False)), **named}
    where = given.pop(place, None)
    record = recorded_options(writer)
    for key in ("format", "outputMode", "queryName"):
        if (value := given.pop(key, None)) is not None:
            record[key] = value
    if (columns := given.pop("partitionBy", None)) is not None:
        record["partitionBy"] = (columns,) if isinstance(columns, str) else tuple(columns)
    for key, value in given.items():
        remember_option(writer, key, value)
    options = record["options"]
    path = next((value for key, value in options.items() if key.casefold() == "path"), None)
    frame = record["frame"]
    default = frame.sparkSession.conf.get("spark.sql.sources.default")
    function, per_row = record.get("foreachBatch"), record.get("foreach")
    kind = "foreachBatch" if function else "foreach" if per_row else record["format"] or default
    return StreamWrite(
        frame=frame,
        location=SourceLocation(""),
        format=kind,
        mode=str(record.get("outputMode", "append")).lower(),
        name=record.get("queryName", ""),
        options={key: value for key, value in options.items() if key.casefold() != "path"},
        trigger=record.get("trigger", {}),
        partition_columns=record.get("partitionBy", ()),
        cluster_columns=record.get("clusterBy", ()),
        path=where if method == "start" and where is not None else path,
        table=where if method == "toTable" else None,
        function=function,
        per_row=per_row,
    )
