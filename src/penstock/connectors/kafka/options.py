"""The options of a streaming read of Kafka: those that there are, and those that are refused."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from penstock.spark.sources.option import Option, refused, taken

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

REFUSED: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
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
)
"""What a stream does not take: the reason, and what to write."""

CLIENT: Final = "kafka.*"
"""The settings of Kafka's client."""

DECLARED: Final = (
    *(Option(name, place=True) for name in TOPICS),
    *taken(*(name for name in OPTIONS if name not in TOPICS), "kafka.bootstrap.servers", CLIENT),
    *refused(REFUSED),
)
"""Every option of a stream, as a connector declares it."""
