"""A query writes to its target so that the target can take it, and each batch once."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import CodeType
from typing import Any

from pyspark.sql import functions as sf

from penstock.errors import DefinitionError, StateError
from penstock.graph.resolved import UpdateKeys
from penstock.graph.schema.table_schema import Schema
from penstock.graph.sql.names import quoted
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite
from penstock.spark.plans.grouping import NotGrouped, grouping_columns
from penstock.spark.plans.inspection import groups_by_session
from penstock.spark.plans.without_batches import in_the_way_of_continuous, in_the_way_of_real_time
from penstock.spark.streams.earlier_batches import has_planned_batches, holds_batches_of_another_query


# `trigger(once=True)` is deprecated: it takes all data in one batch, whatever its size.
def once_trigger(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Runs it as `availableNow`: the same data, in batches as large as the source allows."""
    if not write.trigger.get("once"):
        return write
    starting.notice(DefinitionError("TRIGGER_ONCE_REPLACED", location=write.location, query=write.name))
    return replace(write, trigger={"availableNow": True})


# Continuous processing and real-time mode run few queries; Spark names one thing in the way at a time, or none.
def trigger_without_batches(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Refuses them with all that is in the way, where something is known to be."""
    if "continuous" in write.trigger:
        trigger, reasons = "continuous", in_the_way_of_continuous(write.frame, write.format)
    elif "realTime" in write.trigger:
        trigger, reasons = "realTime", in_the_way_of_real_time(write.frame, write.format, write.mode)
    else:
        return write
    if reasons:
        raise write.error("QUERY_TRIGGER_REFUSED", query=write.name, trigger=trigger, reasons="; ".join(reasons))
    return write


# Session windows grow and merge, so Spark cannot tell which of them changed in a batch: it refuses update mode.
def session_windows(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Runs them in append mode instead: each session is written once, when the watermark has passed its end."""
    if write.mode != "update" or not groups_by_session(write.frame):
        return write
    starting.notice(DefinitionError("SESSION_WINDOW_APPENDED", location=write.location, query=write.name))
    return replace(write, mode="append")


# `partitionBy("window.start")`: Delta partitions by columns, and a field of a struct is none.
def partition_by_field(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Adds a column with the field's value, `window_start`, and partitions by that."""
    if not write.is_delta:
        return write
    frame, columns, schema = write.frame, [], Schema(write.frame.schema.json())
    for name in write.partition_columns:
        if name in frame.columns or not _is_field(schema, name):
            columns.append(name)
            continue
        column = name.replace(".", "_")
        if column.casefold() not in {each.casefold() for each in frame.columns}:
            frame = frame.withColumn(column, sf.col(".".join(quoted(part) for part in name.split("."))))
        columns.append(column)
        starting.notice(
            DefinitionError(
                "PARTITION_COLUMN_ADDED", location=write.location, query=write.name, field=name, column=column
            )
        )
    return replace(write, frame=frame, partition_columns=tuple(columns))


def _is_field(schema: Schema, name: str) -> bool:
    found = schema.field(name.split("."))
    return found is not None and (isinstance(found[1], str) or found[1]["type"] != "struct")


# A folder of files knows the batches written to it by their number only, and skips those that it has.
def file_sink_in_use(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Refuses a second query into a folder, and one with a new checkpoint: Spark would skip its batches silently."""
    if not write.is_file_sink or write.path is None or write.checkpoint is None:
        return write
    for other, _ in starting.earlier():
        if other.is_file_sink and other.path == write.path and other.checkpoint != write.checkpoint:
            raise write.error("FILE_SINK_SHARED", flow=write.name, first=other.name, path=write.path)
    is_new_query = not has_planned_batches(starting.spark, write.checkpoint)
    if is_new_query and holds_batches_of_another_query(starting.spark, write.path):
        raise StateError(
            "SINK_FOLDER_IN_USE", location=write.location, dataset=str(write.dataset), name=write.name, path=write.path
        )
    return write


# After a crash Spark calls the function of `foreachBatch` again with the same batch, and the same batch id.
_WRITES_ONCE = frozenset({"merge", "txnVersion", "MERGE"})
"""What a function uses that writes a repeated batch only once; SQL text is matched by its words."""


def foreach_batch_repeats(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Notes a function that neither looks at the batch id nor merges: it may write the rows of a batch twice."""
    if write.function is None or distinguishes_batches(write.function):
        return write
    starting.notice(
        DefinitionError(
            "FOREACH_BATCH_REPEATS",
            location=write.location,
            query=write.name,
            function=getattr(write.function, "__name__", "the function"),
        )
    )
    return write


def distinguishes_batches(function: Callable[..., Any]) -> bool:
    """Whether a function uses its batch id, or merges; True too for one whose code says nothing."""
    code = getattr(function, "__code__", None)
    first = 1 if hasattr(function, "__self__") else 0
    if code is None or code.co_argcount < first + 2:
        return True
    batch_id = code.co_varnames[first + 1]
    return any(_WRITES_ONCE & words or batch_id in words for words in _used_names(code))


def _used_names(code: CodeType) -> Iterator[set[str]]:
    for instruction in dis.get_instructions(code):
        if not instruction.opname.startswith("LOAD"):
            continue
        value = instruction.argval
        if isinstance(value, CodeType):
            yield from _used_names(value)
        elif isinstance(value, str):
            yield set(value.split())
        elif isinstance(value, tuple):  # Python 3.13 loads two at once
            yield {str(each) for each in value}


# Delta's own sink refuses update mode: it can only add rows or replace all of them.
def update_into_delta(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Merges the changed rows by what the query groups by."""
    if not write.is_delta or write.mode != "update" or write.path is None:
        return write
    try:
        keys = grouping_columns(write.frame)
    except NotGrouped as unknown:
        raise write.error("UPDATE_KEYS_NOT_FOUND", query=write.name, reason=unknown) from None
    return replace(write, keys=UpdateKeys(keys, distinct=True))
