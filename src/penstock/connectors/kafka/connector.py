"""How `format("kafka")` is read and written, with the options that a streaming read takes or refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame

from penstock.connectors.kafka.access import KafkaEndpoint, check_access
from penstock.spark.sinks.sink import Promise, SinkTarget
from penstock.spark.sinks.spark_sinks import SinkWriter
from penstock.spark.sources.installed import Connector
from penstock.spark.sources.option import Option, plain_options, refused, taken
from penstock.spark.sources.source import SourceRead
from penstock.spark.streams.writes import StreamWriter

TOPICS: Final = ("subscribe", "subscribePattern", "assign")
"""Exactly one of them says what is read."""

OPTIONS: Final = (
    *TOPICS,
    "bytesEstimateWindowLength",
    "failOnDataLoss",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "groupIdPrefix",
    "includeHeaders",
    "kafkaConsumer.pollTimeoutMs",
    "maxOffsetsPerTrigger",
    "maxRecordsPerPartition",
    "maxTriggerDelay",
    "minOffsetsPerTrigger",
    "minPartitions",
    "startingOffsets",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "startingTimestamp",
)
"""What a stream takes beside `kafka.…`, which goes to Kafka's client."""

_A_STREAM: Final = "a stream has no end"
_END: Final = "Remove it; 'penstock run --batch' reads what is there now"
_BYTES: Final = "keys and values are binary"
_CAST: Final = "Remove it, and cast the column: CAST(value AS STRING)"
_CREDENTIAL: Final = "service credentials are kept by Databricks"
_LOGIN: Final = "Log in with kafka.sasl.mechanism and kafka.sasl.jaas.config"

REFUSED: Final[Mapping[str, tuple[str, str]]] = {
    "databricks.serviceCredential": (_CREDENTIAL, _LOGIN),
    "databricks.serviceCredential.scope": (_CREDENTIAL, _LOGIN),
    "endingOffsets": (_A_STREAM, _END),
    "endingOffsetsByTimestamp": (_A_STREAM, _END),
    "endingTimestamp": (_A_STREAM, _END),
    "kafka.auto.offset.reset": ("the checkpoint records where to continue", "Set 'startingOffsets'"),
    "kafka.enable.auto.commit": ("the checkpoint knows how far was read", "Remove it"),
    "kafka.interceptor.classes": ("interceptors may change what is read without a trace", "Remove it"),
    "kafka.key.deserializer": (_BYTES, _CAST),
    "kafka.value.deserializer": (_BYTES, _CAST),
}
"""What a stream does not take: the reason, and what to write."""

CLIENT: Final = "kafka.*"
"""The settings of Kafka's client."""

DECLARED: Final = (
    *(Option(name, place=True) for name in TOPICS),
    *taken(*(name for name in OPTIONS if name not in TOPICS), "kafka.bootstrap.servers", CLIENT),
    *refused(REFUSED),
)
"""Every option of a stream, as a connector declares it."""

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
