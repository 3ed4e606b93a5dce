"""How `format("kafka")` is read and written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame

from penstock.connectors.kafka.access import check_access
from penstock.connectors.kafka.endpoint import KafkaEndpoint
from penstock.connectors.kafka.options import DECLARED
from penstock.spark.sinks.format_writer import SinkWriter
from penstock.spark.sinks.sink import Promise, SinkTarget
from penstock.spark.sources.installed import Connector
from penstock.spark.sources.option import plain_options
from penstock.spark.sources.source import SourceRead
from penstock.spark.streams.writes import StreamWriter

_START: Final = frozenset({"startingoffsets", "startingoffsetsbytimestamp", "startingtimestamp"})


class KafkaSource:
    """Spark's own source, checked for access before a flow starts."""

    options = DECLARED
    replayable = True

    def stream(self, read: SourceRead) -> DataFrame:
        """Returns the records as they come."""
        return read.load(read.name, {**plain_options(read.options), **read.more_options(read.format)})

    def batch(self, read: SourceRead) -> DataFrame:
        """Returns the records that Kafka still has, from where a new stream would begin."""
        options = from_the_beginning(plain_options(read.options))
        return read.spark.read.format("kafka").options(**options).load()

    def check(self, read: SourceRead) -> None:
        """Asks the cluster; see `check_access`."""
        check_access(read.spark, KafkaEndpoint.of(plain_options(read.options)))


class KafkaSink:
    """Spark's own sink, checked for access before a flow starts."""

    options = None
    promise = Promise.AT_LEAST_ONCE
    takes_updates = True

    def open(self, target: SinkTarget) -> StreamWriter:
        """Asks the cluster; see `check_access`."""
        options = plain_options(target.options)
        check_access(target.spark, KafkaEndpoint.of(options, writes=True))
        return SinkWriter(target.declared.format, options, target.mode)


CONNECTOR: Final = Connector(source=KafkaSource(), sink=KafkaSink(), batches_by_spark=True)


def from_the_beginning(options: Mapping[str, str]) -> dict[str, str]:
    """A stream that starts at the latest offsets has read nothing yet: the batch begins with the first that is kept."""
    found = dict(options)
    for key, value in options.items():
        if key.casefold() == "startingoffsets" and value.strip().casefold() == "latest":
            del found[key]
    if not _START & {key.casefold() for key in found}:
        found["startingOffsets"] = "earliest"
    return found
