"""The change log of a target: what is remembered of its events, so that an older one is known as such."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sf
from pyspark.sql.types import StructField, StructType, TimestampType

from penstock.graph.elements import COLUMN_MAPPING
from penstock.graph.quarantine import TIME
from penstock.graph.sql_names import names_to_map
from penstock.spark.delta.quick_append import append, can_append
from penstock.spark.delta.tables import set_properties
from penstock.spark.streams.writes import append_to_table
from penstock.spark.writers.changes.events import TRUNCATE, UPSERT
from penstock.spark.writers.changes.order import Order
from penstock.storage.delta_table import is_delta_table, open_delta_table

_MOST_FILES = 64
_ARRIVED = "arrived"
_MOMENT = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, slots=True)
class LoggedBatch:
    """What is known of a batch since it was logged.

    `before` is the version of the log that it met, None for the first batch. `earliest` is where it begins, for
    `Order.reaches`. `late` is whether the log may have had an event as late as that; None when it was not checked.
    """

    before: int | None
    truncates: bool
    earliest: int | str | None
    late: bool | None = None


@dataclass(frozen=True, slots=True)
class ChangeLog:
    """A Delta table beside the target: `key`, `sequence`, `kind`, `hash`, `row`, `arrived`.

    It is only appended to, and the order of its rows means nothing, so that appending the same events
    twice changes nothing. `keeps_rows` False leaves `row` out. `tombstone_seconds` is how long after its
    arrival a delete is remembered at least; while an event of the `quarantine`, a table that need not be there,
    waits to be replayed, the deletes that it could have met when it came are remembered too.
    """

    path: str
    quarantine: str
    keeps_rows: bool
    tombstone_seconds: int

    def append(self, events: DataFrame, order: Order, *, few: bool, transaction: tuple[str, int]) -> LoggedBatch:
        """Adds a batch's events; a second call with the same transaction adds nothing.

        `few` events pass through the driver, so that neither their commit nor the check of what was before takes a job.
        """
        logged = events if self.keeps_rows else events.drop("row")
        log = open_delta_table(self.path) if is_delta_table(self.path) else None
        before = None if log is None else log.version()
        if (
            log is not None
            and names_to_map(logged.schema.jsonValue())
            and COLUMN_MAPPING not in log.metadata().configuration
        ):
            set_properties(logged.sparkSession, self.path, {COLUMN_MAPPING: "name"})
            log = open_delta_table(self.path)
        if log is not None and few and order.stats_are_exact and can_append(log, _logged(logged.schema)):
            rows = logged.toArrow()
            earliest, comparable = order.earliest_of(rows)
            late = rows.num_rows > 0 and order.may_reach(log, comparable)
            arrived = pa.repeat(pa.scalar(datetime.now(UTC), _MOMENT), rows.num_rows)
            append(log, rows.append_column(_ARRIVED, arrived), transaction)
            return LoggedBatch(
                before, bool(pc.any(pc.equal(rows["kind"], pa.scalar(TRUNCATE, pa.int8()))).as_py()), earliest, late
            )
        batch = events.agg(
            sf.coalesce(sf.bool_or(sf.col("kind") == TRUNCATE), sf.lit(False)).alias("truncates"),
            order.earliest(sf.col("sequence")).alias("earliest"),
        ).collect()[0]
        append_to_table(
            logged.withColumn(_ARRIVED, sf.current_timestamp()),
            self.path,
            transaction,
            properties={COLUMN_MAPPING: "name"} if log is None and names_to_map(logged.schema.jsonValue()) else {},
        )
        return LoggedBatch(before, batch["truncates"], batch["earliest"])

    def events(self, spark: SparkSession, version: int | None = None) -> DataFrame:
        """Returns the events that are remembered now, whatever is appended later, or those of a version of the log."""
        if version is None:
            version = open_delta_table(self.path).version()
        return spark.read.format("delta").option("versionAsOf", version).load(self.path)

    def tidy(self, spark: SparkSession) -> None:
        """Rewrites the log when it has become many files; forgets what no later event can depend on."""
        if not is_delta_table(self.path) or len(open_delta_table(self.path).file_uris()) <= _MOST_FILES:
            return
        table = DeltaTable.forPath(spark, self.path)
        if self.keeps_rows:
            table.optimize().executeCompaction()
        else:
            self._fold(table)
        open_delta_table(self.path).vacuum(dry_run=False)  # what Spark needs half a minute for

    def _fold(self, table: DeltaTable) -> None:
        """Keeps the newest event of each key, and the newest truncate; forgets deletes that are old enough."""
        newest = Window.partitionBy("key", sf.col("kind") == TRUNCATE).orderBy(
            sf.desc("sequence"), sf.desc("kind"), sf.desc("hash")
        )
        events = table.toDF()
        now = self._now_of_the_oldest(events.sparkSession)
        old = now - sf.make_dt_interval(secs=sf.lit(self.tombstone_seconds))
        remaining = events.withColumn("place", sf.row_number().over(newest)).where(
            (sf.col("place") == 1) & ((sf.col("kind") == UPSERT) | (sf.col("arrived") > old))
        )
        # In the order of their sequence, so that a file's first and last one say whether a batch needs it.
        by_age = remaining.drop("place").repartitionByRange("sequence").sortWithinPartitions("sequence")
        by_age.write.format("delta").mode("overwrite").save(self.path)

    def _now_of_the_oldest(self, spark: SparkSession) -> Column:
        """Returns when the oldest event came that can still be applied: one that waits in quarantine, or now."""
        now = sf.current_timestamp()
        if not is_delta_table(self.quarantine):
            return now
        waiting = spark.read.format("delta").load(self.quarantine)
        oldest = waiting.agg(sf.unix_micros(sf.min(TIME))).collect()[0][0]
        return now if oldest is None else sf.least(now, sf.timestamp_micros(sf.lit(oldest)))


def _logged(events: StructType) -> StructType:
    return StructType([*events.fields, StructField(_ARRIVED, TimestampType())])
