"""What a read handler answers a streaming reader of PySpark: for the hooks on readers, and for SQL."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from penstock.spark.reading.read_handler import ReadHandler
from penstock.spark.reading.recorded_options import named_source, recorded_options
from penstock.spark.sources.stream_read import StreamRead


def answer_load(
    handler: ReadHandler,
    spark: SparkSession,
    reader: DataStreamReader,
    path: str | None = None,
    load: Callable[[DataStreamReader, str | None], DataFrame] = DataStreamReader.load,
) -> DataFrame:
    """Returns the stream of `reader.load(path)`; `path` is as the author wrote it, and `load` is Spark's own answer.

    Called while no handler is in force.

    Raises:
        PenstockError: what the handler refuses.
    """
    record = recorded_options(reader)
    where = None if path is None else handler.path(path, batch=False)
    read = StreamRead(record["format"] or "parquet", dict(record["options"]), record["schema"], where, record["name"])
    return handler.stream(spark, read, lambda name, more: load(named_source(reader.options(**more), name), where))


def answer_table(handler: ReadHandler, spark: SparkSession, reader: DataStreamReader, table: str) -> DataFrame:
    """Returns the stream of `reader.table(table)`, as `answer_load` that of a path."""
    record = recorded_options(reader)
    name, options = record["name"], dict(record["options"])
    answer = handler.table(spark, table, streaming=True, options=options, source_name=name)
    if answer is not None:
        return answer
    return handler.stream(
        spark,
        StreamRead(format="table", options=options, path=table),
        lambda chosen, more: named_source(reader.options(**more), name or chosen).table(table),
    )
