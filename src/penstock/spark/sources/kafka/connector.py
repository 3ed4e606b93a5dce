"""How `format("kafka")` is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame

from penstock.spark.sources.kafka.access import check_access
from penstock.spark.sources.kafka.endpoint import KafkaEndpoint
from penstock.spark.sources.kafka.options import DECLARED, plain_options
from penstock.spark.sources.source import SourceRead

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


def from_the_beginning(options: Mapping[str, str]) -> dict[str, str]:
    """A stream that starts at the latest offsets has read nothing yet: the batch begins with the first that is kept."""
    found = dict(options)
    for key, value in options.items():
        if key.casefold() == "startingoffsets" and value.strip().casefold() == "latest":
            del found[key]
    if not _START & {key.casefold() for key in found}:
        found["startingOffsets"] = "earliest"
    return found
