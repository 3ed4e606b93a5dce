"""How `format("jdbc")` is written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pyspark.sql import SparkSession

from penstock.connectors.jdbc.connection import unknown_options, with_defaults
from penstock.connectors.jdbc.failures import SinkPlace
from penstock.connectors.jdbc.prepare import prepare
from penstock.connectors.jdbc.writer import JdbcBatches
from penstock.errors import PenstockError, did_you_mean
from penstock.graph.elements import FormatSink
from penstock.graph.jdbc_target import OWN_OPTIONS, SPARK_OPTIONS, JdbcTarget
from penstock.graph.sink_group import options_refused
from penstock.spark.sinks.sink import BatchSink, Promise, SinkTarget
from penstock.spark.sources.installed import Connector
from penstock.storage.checkpoint import CheckpointFolder


class JdbcSink:
    """Tables of PostgreSQL, through a staging table and a ledger; the graph's rules have judged its own options."""

    options = None
    promise = Promise.EXACTLY_ONCE
    takes_updates = True

    def open(self, target: SinkTarget) -> BatchSink:
        """Makes what is missing in the database; see `prepare`."""
        declared = target.declared
        prepared = prepare(
            target.rows,
            JdbcTarget.of(declared),
            with_defaults(target.options),
            flow=target.flow,
            checkpoint=CheckpointFolder.open_without_state(target.checkpoint),
            place=SinkPlace(str(declared.identifier), target.flow_name, declared.location),
        )
        return JdbcBatches(prepared)

    def promise_of(self, sink: FormatSink) -> str:
        """Returns the promise with the table, and how rows get into it."""
        return JdbcTarget.of(sink).promise

    def problems(self, spark: SparkSession, sink: FormatSink) -> Iterator[PenstockError]:
        """Yields the first option that neither Spark nor Penstock knows: the driver ignores what it does not know."""
        known = {name.casefold() for name in (*SPARK_OPTIONS, *OWN_OPTIONS)}
        if unknown := unknown_options(spark, [name for name in sink.options if name.casefold() not in known]):
            near = did_you_mean(unknown[0], (*SPARK_OPTIONS, *OWN_OPTIONS))
            reason = f"neither Spark nor the driver of PostgreSQL has an option '{unknown[0]}'{near and f' ({near})'}"
            yield options_refused(sink, reason, "Correct or remove it")


CONNECTOR: Final = Connector(sink=JdbcSink())
