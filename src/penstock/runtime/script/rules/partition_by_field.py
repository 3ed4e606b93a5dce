"""`partitionBy("window.start")`: Delta partitions by columns, and a field of a struct is none."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import functions as sf

from penstock.errors import DefinitionError
from penstock.graph.schema import Schema
from penstock.graph.sql_names import quoted
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite


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
