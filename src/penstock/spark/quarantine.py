"""The rows of a quarantine: which they are, and what is told of each beside its own columns."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.graph import quarantine
from penstock.graph.elements import Expectation, OnViolation
from penstock.graph.identifier import Identifier
from penstock.graph.sql_names import quoted
from penstock.spark.expectations import REPEATS, broken_rules
from penstock.spark.row_origin import ORIGIN_TYPE, row_origin


def with_source(frame: DataFrame) -> DataFrame:
    """Adds the column `_quarantine_source` when something is known of where the rows come from; see `row_origin`."""
    origin = row_origin(frame)
    return frame if origin is None else frame.withColumn(quarantine.SOURCE, origin)


def put_aside(frame: DataFrame, expectations: Sequence[Expectation], *, dataset: Identifier) -> DataFrame:
    """Returns only the rows that break a quarantining expectation, in the columns of a quarantine."""
    rules = [each for each in expectations if each.on_violation in {OnViolation.DROP, OnViolation.QUARANTINE}]
    frame = with_source(frame)
    marked = frame.withColumn(quarantine.RULES, broken_rules(frame, rules, dataset=dataset))
    return quarantined(marked, flow=dataset.name, batch_id=None)


def data_columns(rows: DataFrame) -> list[Column]:
    """Returns the columns of the user's query, without those that were added to judge its rows."""
    own = (quarantine.RULES, quarantine.SOURCE)
    names = [name for name in rows.columns if name not in own and not name.startswith(REPEATS)]
    return [sf.col(quoted(name)) for name in names]


def quarantined(rows: DataFrame, *, flow: str, batch_id: int | None) -> DataFrame:
    """Returns those of `rows`, marked by `broken_rules`, that go to quarantine, in its columns."""
    known = quarantine.SOURCE in rows.columns
    return rows.where(sf.size(quarantine.RULES) > 0).select(
        *data_columns(rows),
        sf.expr("uuid()").alias(quarantine.ROW_ID),
        sf.col(quarantine.RULES),
        sf.lit(flow).alias(quarantine.FLOW),
        sf.lit(batch_id).cast("bigint").alias(quarantine.BATCH),
        sf.current_timestamp().alias(quarantine.TIME),
        (sf.col(quarantine.SOURCE) if known else sf.lit(None).cast(ORIGIN_TYPE)).alias(quarantine.SOURCE),
        sf.lit(None).cast("string").alias(quarantine.REPLAY),
    )
