"""Update mode into Delta: the rows that a batch changed take the place of those with their keys, in one MERGE."""

from __future__ import annotations

from dataclasses import dataclass

from delta.tables import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from penstock.errors import DataError
from penstock.graph.resolved import UpdateKeys
from penstock.graph.sql.names import quoted
from penstock.spark.delta.conform import align
from penstock.spark.delta.tables import add_missing_columns
from penstock.spark.session.query_settings import query_settings
from penstock.spark.writers.changes.candidate_rows import candidate_row_filter
from penstock.spark.writers.changes.merge import FEW_ROWS, MergedRows, execute_merge, small_batch_conf

_ROWS_ARE_HELD = {"spark.databricks.delta.merge.materializeSource": "none"}
"""MERGE reads its rows three times, and would hold them so that they are the same each time."""


@dataclass(slots=True)
class UpdateWriter:
    """Merges the batches of an update flow into the Delta table at `path`: for each row, one with its keys is there.

    NULL in a key equals NULL, as in GROUP BY. One flow at a time may write.
    """

    flow: str
    dataset: str
    path: str
    keys: UpdateKeys
    _stored: StructType | None = None

    def apply(self, rows: DataFrame, transaction: tuple[str, int], count: int) -> MergedRows:
        """Merges `count` rows under a Delta transaction (app id, version); `rows` are a local checkpoint.

        With a transaction that is committed already nothing happens.

        Raises:
            DataError: UPDATE_KEY_REPEATED; nothing was written.
        """
        if self._stored is None:  # the columns of a query stay the same from its start to its end
            add_missing_columns(rows.sparkSession, self.path, rows.schema)
            self._stored = rows.sparkSession.read.format("delta").load(self.path).schema
        rows = align(rows, self._stored)
        if count == 0:
            return MergedRows()
        if not self.keys.distinct:
            self._check(rows, transaction[1])
        few = count <= FEW_ROWS
        settings = _ROWS_ARE_HELD | (small_batch_conf(rows.sparkSession) if few else {})
        with query_settings(rows.sparkSession, settings):
            return self._merge(rows, transaction, count, few=few)

    def _merge(self, rows: DataFrame, transaction: tuple[str, int], count: int, *, few: bool) -> MergedRows:
        names = [quoted(key) for key in self.keys.columns]
        matches = sf.expr(" AND ".join(f"t.{name} <=> s.{name}" for name in names) or "TRUE")
        if few and (near := candidate_row_filter(rows.select(*names), count, path=self.path)) is not None:
            matches &= near
        values = {quoted(name): f"s.{quoted(name)}" for name in rows.columns}
        merge = (
            DeltaTable.forPath(rows.sparkSession, self.path)
            .alias("t")
            .merge((sf.broadcast(rows) if few else rows).alias("s"), matches)
            .whenMatchedUpdate(set=dict(values))
            .whenNotMatchedInsert(values=dict(values))
        )
        return execute_merge(rows.sparkSession, merge, transaction)

    def _check(self, rows: DataFrame, batch_id: int) -> None:
        """Refuses rows of one key: MERGE would insert both where the key is new, whichever is the newer one."""
        names = [quoted(key) for key in self.keys.columns]
        repeated = rows.groupBy(*names).agg(sf.count("*").alias("rows")).where("rows > 1").count()
        if repeated:
            raise DataError(
                "UPDATE_KEY_REPEATED",
                dataset=self.dataset,
                flow=self.flow,
                name=self.dataset,
                batch=batch_id,
                keys=repeated,
                columns=", ".join(self.keys.columns),
            )
