"""How `format("jdbc")` is written: the batches of a stream into a table of PostgreSQL, each once.

Spark writes a batch in parallel to a staging table. One transaction then brings its rows into the target, and takes
the batch down in a ledger. A process that dies before that leaves rows in a staging table, which is not read; one that
dies after it finds the batch in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from penstock.connectors.jdbc import statements
from penstock.connectors.jdbc.connection import Connection, connected, unknown_options, with_defaults
from penstock.connectors.jdbc.failures import database_errors
from penstock.connectors.jdbc.prepare import PreparedTarget, prepare
from penstock.errors import DataError, PenstockError, StateError, did_you_mean
from penstock.graph.elements import FormatSink
from penstock.graph.sinks.jdbc_target import OWN_OPTIONS, SPARK_OPTIONS, JdbcTarget
from penstock.graph.sinks.sink_group import options_refused
from penstock.graph.sql.names import quoted
from penstock.spark.failures.causes import causes_of
from penstock.spark.sinks.sink import BatchSink, Promise, SinkBatch, SinkTarget
from penstock.spark.sources.installed import Connector
from penstock.storage.checkpoint.folder import CheckpointFolder

_KEY_REPEATED = "21000"


class JdbcBatches:
    """Takes the batches of one start of a query."""

    def __init__(self, prepared: PreparedTarget) -> None:
        self._to = prepared
        self._known = prepared.known

    def write(self, rows: DataFrame, batch: SinkBatch) -> int | None:
        """Writes a batch of a query, unless the database has it.

        Returns how many rows the table has taken; None where the others are not missing: for a batch that it had
        already, and where one row of a key gets there.

        Raises:
            PenstockError: what the database refuses, JDBC_KEY_REPEATED and JDBC_WRITTEN_BY_ANOTHER among it.
            Exception: what the query of the rows raises.
        """
        with database_errors(self._to.place, self._to.target):
            written = self._write(rows, batch)
        one_of_a_key = self._to.target.sequence_by is not None or len(self._to.target.keys) == len(self._to.columns)
        return None if one_of_a_key else written

    def _write(self, rows: DataFrame, batch: SinkBatch) -> int | None:
        known, to = self._known, self._to
        if known is not None and known.query == batch.query and batch.number <= known.number:
            batch.skip(rows)
            return None
        with connected(rows.sparkSession, to.options) as database:
            try:
                # Open while Spark writes: a server that crashes meanwhile, or another that takes its place, has lost
                # staged rows, and this transaction.
                with database.transaction(to.target.lock_seconds):
                    stage(rows, to)
                    written = bring_in(to, database, batch, known)
            except Py4JError as error:
                if (repeated := _repeated_keys(error, to, database, batch.number)) is not None:
                    raise repeated from error
                raise
        self._known = batch
        return written


def stage(rows: DataFrame, to: PreparedTarget) -> None:
    """Writes a batch to the staging table, in parallel."""
    columns = [sf.col(quoted(each.name)) for each in to.columns]
    numbered = rows.select(*columns, sf.monotonically_increasing_id().alias(statements.ROW_NUMBER))
    numbered.write.format("jdbc").mode("append").options(**to.options).option("dbtable", to.staging.sql).save()


def bring_in(to: PreparedTarget, database: Connection, batch: SinkBatch, known: SinkBatch | None) -> int:
    """Brings the staged rows into the target and the batch into the ledger, and empties the staging table.

    Called in a transaction; `known` is what the ledger said last. Returns how many rows it wrote.

    Raises:
        StateError: JDBC_WRITTEN_BY_ANOTHER.
    """
    replaced = known.query if known is not None and known.query != batch.query else ""
    written = database.execute(to.merge)
    entry = (to.flow, str(to.target.table), batch.query, batch.number, written, replaced)
    if database.execute(statements.record_batch(to.ledger), *entry) == 0:
        raise StateError("JDBC_WRITTEN_BY_ANOTHER", **to.place, table=to.target.table)
    database.execute(f"TRUNCATE {to.staging.sql}")
    return written


def _repeated_keys(error: Py4JError, to: PreparedTarget, database: Connection, batch_id: int) -> DataError | None:
    """Names the keys of which the batch has several rows, if that is what PostgreSQL refuses."""
    if not any(cause.sql_state == _KEY_REPEATED for cause in causes_of(error)):
        return None
    shown = "; ".join(f"({', '.join(map(str, row[:-1]))}) {row[-1]} times" for row in database.query(to.repeated))
    facts = {**to.place, "table": to.target.table, "batch": batch_id}
    return DataError("JDBC_KEY_REPEATED", **facts, columns=", ".join(to.target.keys), keys=shown)


class JdbcSink:
    """Tables of PostgreSQL, through a staging table and a ledger; the graph's rules have judged its own options."""

    options = None
    promise = Promise.EXACTLY_ONCE
    takes_updates = True

    def open(self, target: SinkTarget) -> BatchSink:
        """Makes what is missing in the database; see `prepare`."""
        declared, name = target.declared, str(target.declared.identifier)
        prepared = prepare(
            target.rows,
            JdbcTarget.of(declared),
            with_defaults(target.options),
            flow=target.flow,
            checkpoint=CheckpointFolder.open_without_state(target.checkpoint),
            place={"location": declared.location, "dataset": name, "name": name, "flow": target.flow_name},
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
