"""`read_kafka(bootstrapServers => …, subscribe => …)`: Kafka topics as a table or a stream."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

from penstock.errors import DefinitionError
from penstock.spark.sources.formats import source_of
from penstock.spark.sql.functions.table_function import TableFunctionCall

_SERVERS: Final = "kafka.bootstrap.servers"
_EXAMPLE: Final = "read_kafka(bootstrapServers => 'host:9092', subscribe => 'topic')"

# Databricks' name for the servers, and the options that only a batch has.
_BESIDE: Final = ("bootstrapServers", "endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp")


def read_kafka(call: TableFunctionCall) -> DataFrame:
    """Reads a range of each topic, or with STREAM what arrives; the columns are those of Spark's Kafka source.

    Raises:
        DefinitionError: the TABLE_FUNCTION_… conditions.
    """
    declared = source_of("kafka").options or ()
    known = [each for each in declared if not each.refused and not each.name.startswith("kafka.")]
    options = call.bind().options((*_BESIDE, *(each.name for each in known)), prefix="kafka.")
    servers = options.pop("bootstrapServers", None)
    if servers is not None:
        options.setdefault(_SERVERS, servers)
    missing = "bootstrapServers" if _SERVERS not in options else None
    if missing is None and not any(each.place and each.name in options for each in known):
        missing = "subscribe"
    if missing is not None:
        raise DefinitionError(
            "TABLE_FUNCTION_ARGUMENT_MISSING",
            function=call.name,
            argument=missing,
            example=_EXAMPLE,
        ).at(call.position)
    if call.streaming:
        return call.stream_reader().format("kafka").options(**options).load()
    return call.spark.read.format("kafka").options(**options).load()
