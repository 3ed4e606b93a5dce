"""The rows of a quarantine: which they are, and what is recorded of each beside its own columns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructField, StructType

from penstock.graph.companions import quarantine
from penstock.graph.elements import Expectation, OnViolation
from penstock.graph.identifier import Identifier
from penstock.graph.schema.table_schema import Schema
from penstock.graph.sql.names import quoted
from penstock.spark.delta.conform import spark_schema
from penstock.spark.delta.quick_append import append, can_append, few_rows
from penstock.spark.expectations.observed import broken_rules, is_judgement, with_judgements
from penstock.spark.plans.row_origin import ORIGIN_TYPE, row_origin
from penstock.storage.delta.table import open_delta_table


def with_source(frame: DataFrame) -> DataFrame:
    """Adds the column `_quarantine_source` when something is known of where the rows come from; see `row_origin`."""
    origin = row_origin(frame)
    return frame if origin is None else frame.withColumn(quarantine.SOURCE, origin)


def with_source_of_few(marked: DataFrame) -> DataFrame:
    """Leaves the source only of rows that are quarantined: a path is longer than many a row that is held."""
    if quarantine.SOURCE not in marked.columns:
        return marked
    return marked.withColumn(quarantine.SOURCE, sf.when(_is_quarantined(), sf.col(quarantine.SOURCE)))


def quarantine_rows(frame: DataFrame, expectations: Sequence[Expectation], *, dataset: Identifier) -> DataFrame:
    """Returns only the rows that break a quarantining expectation, in the columns of a quarantine."""
    rules = [each for each in expectations if each.on_violation in {OnViolation.DROP, OnViolation.QUARANTINE}]
    frame = with_judgements(with_source(frame), rules)
    marked = frame.withColumn(quarantine.RULES, broken_rules(frame, rules, dataset=dataset))
    return quarantined(marked, flow=dataset.name, batch_id=None)


def data_columns(rows: DataFrame) -> list[Column]:
    """Returns the columns of the user's query, without those that were added to judge its rows."""
    return [sf.col(quoted(field.name)) for field in _data_fields(rows)]


def _data_fields(rows: DataFrame) -> list[StructField]:
    own = (quarantine.RULES, quarantine.SOURCE)
    return [field for field in rows.schema if field.name not in own and not is_judgement(field.name)]


def append_few(rows: DataFrame, path: str, transaction: tuple[str, int], *, flow: str, count: int) -> bool:
    """Appends those of `rows` that `quarantined` returns for a batch, `count` of them, to a quarantine without Spark.

    Returns False, with nothing written, where the rows are too many, too long, or the table is not plain. The batch's
    number is the version of the `transaction` (app id, version), under which a second call adds nothing.
    """
    table = open_delta_table(path)
    schema = quarantine.quarantine_schema([Schema(StructType(_data_fields(rows)).json())])
    if not can_append(table, spark_schema(schema)):
        return False
    # What is the same for all rows is added here: as a part of the query, Spark would compile it again for each batch.
    known = [quarantine.SOURCE] if quarantine.SOURCE in rows.columns else []
    selected = rows.where(_is_quarantined()).select(*data_columns(rows), quarantine.RULES, *known)
    found = few_rows(selected, count=count)
    if found is None:
        return False
    found = found.append_column(quarantine.ROW_ID, pa.array([str(uuid4()) for _ in range(count)], pa.string()))
    same = {quarantine.FLOW: flow, quarantine.BATCH: transaction[1], quarantine.TIME: datetime.now(UTC)}
    columns = pa.schema(table.schema().to_arrow())  # type: ignore[arg-type]  # it speaks Arrow's C interface
    for name in set(columns.names).difference(found.column_names):
        found = found.append_column(name, pa.repeat(pa.scalar(same.get(name), columns.field(name).type), count))
    found = found.select(columns.names)
    append(table, found, transaction, bounds=False)
    return True


def quarantined(rows: DataFrame, *, flow: str, batch_id: int | None) -> DataFrame:
    """Returns those of `rows`, marked by `broken_rules`, that go to quarantine, in its columns."""
    known = quarantine.SOURCE in rows.columns
    return rows.where(_is_quarantined()).select(
        *data_columns(rows),
        sf.expr("uuid()").alias(quarantine.ROW_ID),
        sf.col(quarantine.RULES),
        sf.lit(flow).alias(quarantine.FLOW),
        sf.lit(batch_id).cast("bigint").alias(quarantine.BATCH),
        sf.current_timestamp().alias(quarantine.TIME),
        (sf.col(quarantine.SOURCE) if known else sf.lit(None).cast(ORIGIN_TYPE)).alias(quarantine.SOURCE),
        sf.lit(None).cast("string").alias(quarantine.REPLAY),
    )


def _is_quarantined() -> Column:
    return sf.size(quarantine.RULES) > 0
