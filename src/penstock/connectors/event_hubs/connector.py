"""How `format("eventhubs")` is read: as Kafka, under other names."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pyspark.sql import DataFrame

from penstock.connectors.event_hubs.options import DECLARED, kafka_read
from penstock.connectors.kafka.connector import KafkaSource
from penstock.spark.sources.installed import Connector
from penstock.spark.sources.source import SourceRead
from penstock.spark.sources.stream_read import native_load

_KAFKA = KafkaSource()

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


class EventHubsSource:
    """The Kafka endpoint of Event Hubs."""

    options = DECLARED
    replayable = True

    def stream(self, read: SourceRead) -> DataFrame:
        """Returns the events as they come."""
        kafka = kafka_read(read)
        options = {**kafka.options, **read.more_options(kafka.format)}
        name = read.name or options["subscribe"]
        return event_columns(native_load(read.spark, kafka.format, options, None, None, source_name=name))

    def batch(self, read: SourceRead) -> DataFrame:
        """Returns the events that the hub still has."""
        return event_columns(_KAFKA.batch(_of_kafka(read)))

    def check(self, read: SourceRead) -> None:
        """Asks the endpoint; see `check_access`."""
        _KAFKA.check(_of_kafka(read))


CONNECTOR: Final = Connector(source=EventHubsSource())


def event_columns(records: DataFrame) -> DataFrame:
    """Returns the events of a read of Kafka with headers.

    Kafka does not return what an event's publisher was, nor its system properties, nor the offset in bytes: `publisher`
    is NULL, `systemProperties` is empty, and `offset` is the sequence number as a text.
    """
    return records.selectExpr(*_COLUMNS)


def _of_kafka(read: SourceRead) -> SourceRead:
    kafka = kafka_read(read)
    return replace(read, format=kafka.format, options=kafka.options)
