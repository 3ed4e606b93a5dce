"""Lets the queries that a script starts reach Penstock: hooks on PySpark's writer of streams."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.declare.user_frames import caller_location
from penstock.errors import SourceLocation
from penstock.runtime.script.patching import patched
from penstock.runtime.script.stream_write import StreamWrite

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
    with ExitStack() as stack:
        for method in ("format", "outputMode", "queryName"):
            stack.enter_context(patched(DataStreamWriter, method, functools.partial(_remember_one, method)))
        for method in ("partitionBy", "clusterBy"):
            stack.enter_context(patched(DataStreamWriter, method, functools.partial(_remember_columns, method)))
        for method in ("foreach", "foreachBatch"):
            stack.enter_context(patched(DataStreamWriter, method, functools.partial(_keep, method)))
        stack.enter_context(patched(DataStreamWriter, "option", _remember_option))
        stack.enter_context(patched(DataStreamWriter, "options", _remember_options))
        stack.enter_context(patched(DataStreamWriter, "trigger", _remember_trigger))
        stack.enter_context(patched(DataStreamWriter, "__init__", functools.partial(_notice, waiting, locate)))

        def hand_on(writer: DataStreamWriter, write: StreamWrite) -> StreamingQuery:
            if (made := _said(writer).pop("made", None)) in waiting:
                waiting.remove(made)
            return start(replace(write, location=locate()))

        for method in ("start", "toTable"):
            stack.enter_context(patched(DataStreamWriter, method, functools.partial(_start, method, hand_on)))
        yield waiting


def script_location(root: Any) -> Callable[[], SourceLocation]:
    """Returns a function that gives the innermost line under `root` that is running in this thread."""
    return functools.partial(caller_location, root)


def _said(writer: DataStreamWriter) -> dict[str, Any]:
    """What was said to this writer so far: PySpark keeps it only on the Java side."""
    said: dict[str, Any] = writer.__dict__.setdefault("_penstock", {"options": {}})
    return said


def _text(value: Any) -> str | None:
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _notice(
    waiting: list[SourceLocation], locate: Callable[[], SourceLocation], original: Any, writer: Any, frame: Any
) -> None:
    original(writer, frame)
    writer.__dict__["_penstock"] = {"options": {}, "frame": frame}
    if not _ours.get():
        writer.__dict__["_penstock"]["made"] = locate()
        waiting.append(writer.__dict__["_penstock"]["made"])


def _remember_one(key: str, original: Any, writer: Any, value: Any) -> Any:
    _said(writer)[key] = value
    return original(writer, value)


def _remember_columns(key: str, original: Any, writer: Any, *columns: Any) -> Any:
    several = len(columns) == 1 and isinstance(columns[0], (list, tuple))
    _said(writer)[key] = tuple(columns[0]) if several else columns
    return original(writer, *columns)


def _remember_option(original: Any, writer: Any, key: str, value: Any) -> Any:
    if (text := _text(value)) is not None:
        _said(writer)["options"][key] = text
    return original(writer, key, value)


def _remember_options(original: Any, writer: Any, **options: Any) -> Any:
    for key, value in options.items():
        if (text := _text(value)) is not None:
            _said(writer)["options"][key] = text
    return original(writer, **options)


def _remember_trigger(original: Any, writer: Any, **how: Any) -> Any:
    result = original(writer, **how)
    _said(writer)["trigger"] = {kind: value for kind, value in how.items() if value is not None}
    return result


def _keep(key: str, original: Any, writer: Any, function: Any) -> Any:
    """PySpark hands the function to the JVM at once; Penstock does when it starts the query."""
    if _ours.get():
        return original(writer, function)
    _said(writer)[key] = function
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
    said = _said(writer)
    for key in ("format", "outputMode", "queryName"):
        if (value := given.pop(key, None)) is not None:
            said[key] = value
    if (columns := given.pop("partitionBy", None)) is not None:
        said["partitionBy"] = (columns,) if isinstance(columns, str) else tuple(columns)
    options = {**said["options"], **{key: text for key, value in given.items() if (text := _text(value)) is not None}}
    path = next((value for key, value in options.items() if key.casefold() == "path"), None)
    frame = said["frame"]
    default = frame.sparkSession.conf.get("spark.sql.sources.default")
    function, per_row = said.get("foreachBatch"), said.get("foreach")
    kind = "foreachBatch" if function else "foreach" if per_row else said.get("format", default)
    return StreamWrite(
        frame=frame,
        location=SourceLocation(""),
        format=kind,
        mode=str(said.get("outputMode", "append")).lower(),
        name=said.get("queryName", ""),
        options={key: value for key, value in options.items() if key.casefold() != "path"},
        trigger=said.get("trigger", {}),
        partition_columns=said.get("partitionBy", ()),
        cluster_columns=said.get("clusterBy", ()),
        path=where if method == "start" and where is not None else path,
        table=where if method == "toTable" else None,
        function=function,
        per_row=per_row,
    )
