"""Computes a batch that its target holds already, and writes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter


@dataclass(frozen=True, slots=True)
class RecomputeBatch:
    """The writer of a query that runs the unfinished `batch` and ends.

    A sink that holds the batch leaves it out before a row is read, and then the query never learns how far the rows
    move its watermark. Here they are read, and reach nothing. The next batch is planned and left unfinished, which
    ends the query with an error: it is for the flow's own writer.
    """

    batch: int

    def start(self, writer: DataStreamWriter) -> StreamingQuery:
        """Starts the query."""
        return writer.outputMode("append").foreachBatch(self._compute).start()

    def _compute(self, rows: DataFrame, batch_id: int) -> None:
        if batch_id != self.batch:
            raise RuntimeError(f"batch {batch_id} is for the flow's own writer")
        rows.write.format("noop").mode("overwrite").save()
