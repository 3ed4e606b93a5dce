"""Where a row comes from, as far as its query still knows without extra work."""

from __future__ import annotations

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.spark.plans.inspection import stateful_operators

ORIGIN_TYPE = "struct<file_path: string, topic: string, partition: int, offset: bigint>"

_KAFKA_TYPES = {"topic": "string", "partition": "int", "offset": "bigint"}


def row_origin(frame: DataFrame) -> Column | None:
    """Returns the origin of each row of `frame` as an `ORIGIN_TYPE`; None when nothing is known of it.

    That is the file's path while the query only selects and filters, and Kafka's topic, partition and
    offset while the query returns these columns. A query with state is left alone: one more column
    would change the state's schema.
    """
    if stateful_operators(frame):
        return None
    known: dict[str, Column] = {}
    types = {name.casefold(): kind for name, kind in frame.dtypes}
    if "_metadata" not in types:
        path = sf.col("_metadata.file_path")
        try:
            frame.select(path)
            known["file_path"] = path
        except AnalysisException:
            pass  # the query joins, aggregates, or reads something else than files
    if all(types.get(name) == kind for name, kind in _KAFKA_TYPES.items()):
        known.update({name: sf.col(name) for name in _KAFKA_TYPES})
    if not known:
        return None
    parts = [known.get(name, sf.lit(None)).alias(name) for name in ("file_path", *_KAFKA_TYPES)]
    return sf.struct(*parts).cast(ORIGIN_TYPE)
