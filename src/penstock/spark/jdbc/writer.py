"""Writes the batches of a stream to a table of PostgreSQL, each once.

Spark writes a batch in parallel to a staging table. One transaction then brings its rows into the target, and takes
the batch down in a ledger. A process that dies before that leaves rows in a staging table, which nobody reads; one that
dies after it finds the batch in the ledger.
"""

from __future__ import annotations

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from penstock.errors import DataError, StateError
from penstock.graph.sql_names import quoted
from penstock.spark.jdbc import statements
from penstock.spark.jdbc.connection import Connection, connected
from penstock.spark.jdbc.failures import database_failure
from penstock.spark.jdbc.prepare import LedgerEntry, PreparedTarget
from penstock.spark.translate import causes_of
from penstock.spark.writes import BatchFailure, sink_transaction_of

_KEY_REPEATED = "21000"


class JdbcWriter:
    """The writer of one start of a query. `failure` is why the query ended: Spark only keeps the text of it."""

    def __init__(self, prepared: PreparedTarget, mode: str) -> None:
        self._to = prepared
        self._mode = mode
        self._known = prepared.known
        self._written: dict[int, int] = {}
        self.failure: BatchFailure | None = None

    def start(self, writer: DataStreamWriter) -> StreamingQuery:
        """Starts the query."""
        return writer.outputMode(self._mode).foreachBatch(self._write).start()

    def rows_written(self, batch_id: int) -> int | None:
        """Returns how many rows of a batch the table has taken.

        None where the others are not missing: for a batch that it had already, and where one row of a key gets there.
        """
        to = self._to
        one_of_a_key = to.target.sequence_by is not None or len(to.target.keys) == len(to.columns)
        return None if one_of_a_key else self._written.get(batch_id)

    def _write(self, rows: DataFrame, batch_id: int) -> None:
        try:
            self.write(rows, sink_transaction_of(rows), batch_id)
        except Exception as error:
            cause = database_failure(error, self._to.place, self._to.target) or error
            self.failure = BatchFailure(batch_id, cause)
            raise RuntimeError(f"the database did not take batch {batch_id}") from error

    def write(self, rows: DataFrame, query_id: str, batch_id: int) -> None:
        """Writes a batch of a query, unless the database has it.

        Raises:
            DataError: JDBC_KEY_REPEATED.
            StateError: JDBC_WRITTEN_BY_ANOTHER.
            Exception: what else the database, or the query of the rows, raises.
        """
        known, to = self._known, self._to
        if known is not None and known.query_id == query_id and batch_id <= known.batch_id:
            # The state of the query and its watermark go on all the same.
            rows.write.format("noop").mode("overwrite").save()
            return
        with connected(rows.sparkSession, to.options) as database:
            try:
                # Open while Spark writes: a server that crashes meanwhile, or another that takes its place, has lost
                # staged rows, and this transaction.
                with database.transaction(to.target.lock_seconds):
                    stage(rows, to)
                    self._written[batch_id] = bring_in(to, database, LedgerEntry(query_id, batch_id), known)
            except Py4JError as error:
                if (repeated := _repeated_keys(error, to, database, batch_id)) is not None:
                    raise repeated from error
                raise
        self._known = LedgerEntry(query_id, batch_id)


def stage(rows: DataFrame, to: PreparedTarget) -> None:
    """Writes a batch to the staging table, in parallel."""
    columns = [sf.col(quoted(each.name)) for each in to.columns]
    numbered = rows.select(*columns, sf.monotonically_increasing_id().alias(statements.ROW_NUMBER))
    numbered.write.format("jdbc").mode("append").options(**to.options).option("dbtable", to.staging.sql).save()


def bring_in(to: PreparedTarget, database: Connection, batch: LedgerEntry, known: LedgerEntry | None) -> int:
    """Brings the staged rows into the target and the batch into the ledger, and empties the staging table.

    Called in a transaction; `known` is what the ledger said last. Returns how many rows it wrote.

    Raises:
        StateError: JDBC_WRITTEN_BY_ANOTHER.
    """
    replaced = known.query_id if known is not None and known.query_id != batch.query_id else ""
    written = database.execute(to.merge)
    entry = (to.flow, str(to.target.table), batch.query_id, batch.batch_id, written, replaced)
    if database.execute(statements.record_batch(to.ledger), *entry) == 0:
        raise StateError("JDBC_WRITTEN_BY_ANOTHER", **to.place.facts, table=to.target.table)
    database.execute(f"TRUNCATE {to.staging.sql}")
    return written


def _repeated_keys(error: Py4JError, to: PreparedTarget, database: Connection, batch_id: int) -> DataError | None:
    """Names the keys of which the batch has several rows, if that is what PostgreSQL refuses."""
    if not any(cause.sql_state == _KEY_REPEATED for cause in causes_of(error)):
        return None
    shown = "; ".join(f"({', '.join(map(str, row[:-1]))}) {row[-1]} times" for row in database.query(to.repeated))
    facts = {**to.place.facts, "table": to.target.table, "batch": batch_id}
    return DataError("JDBC_KEY_REPEATED", **facts, columns=", ".join(to.target.keys), keys=shown)
