"""How `format("eventhubs")` is read: as Kafka, under other names."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame

from penstock.spark.sources.event_hubs.columns import event_columns
from penstock.spark.sources.event_hubs.options import DECLARED, kafka_read
from penstock.spark.sources.kafka import KafkaSource
from penstock.spark.sources.native import native_load
from penstock.spark.sources.source import SourceRead

_KAFKA = KafkaSource()


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


def _of_kafka(read: SourceRead) -> SourceRead:
    kafka = kafka_read(read)
    return replace(read, format=kafka.format, options=kafka.options)
