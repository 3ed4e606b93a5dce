"""The columns of an event, as the Event Hubs connector names them."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

# Of several headers of a name the last counts: a map has each key once.
_PROPERTIES: Final = """map_from_entries(transform(
    filter(headers, (h, i) -> NOT exists(slice(headers, i + 2, size(headers)), later -> later.key = h.key)),
    h -> struct(h.key, CAST(h.value AS STRING))))"""
_COLUMNS: Final = (
    "value AS body",
    "CAST(partition AS STRING) AS partition",
    "CAST(offset AS STRING) AS offset",
    "offset AS sequenceNumber",
    "timestamp AS enqueuedTime",
    "CAST(NULL AS STRING) AS publisher",
    "CAST(key AS STRING) AS partitionKey",
    f"coalesce({_PROPERTIES}, map()) AS properties",
    "CAST(map() AS MAP<STRING, STRING>) AS systemProperties",
)


def event_columns(records: DataFrame) -> DataFrame:
    """Returns the events of a read of Kafka with headers.

    Kafka does not return what an event's publisher was, nor its system properties, nor the offset in bytes: `publisher`
    is NULL, `systemProperties` is empty, and `offset` is the sequence number as a text.
    """
    return records.selectExpr(*_COLUMNS)
