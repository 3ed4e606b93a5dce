"""The change log of a target, and the order of its events: what is kept so that an older one is known as such."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from delta.tables import DeltaTable
from deltalake import DeltaTable as StoredTable
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sf
from pyspark.sql import types as T  # noqa: N812 - PySpark's own spelling

from penstock.graph.companions.quarantine import TIME
from penstock.graph.elements import COLUMN_MAPPING
from penstock.graph.sql.names import names_to_map
from penstock.spark.delta.quick_append import append, can_append
from penstock.spark.delta.tables import set_properties
from penstock.spark.streams.writes import append_to_table
from penstock.spark.writers.changes.computed_rows import TRUNCATE, UPSERT
from penstock.storage.delta.table import added_files, is_delta_table, open_delta_table

_STATISTICS_ROUND_DOWN_BY = 1000  # microseconds: Delta keeps a file's timestamps in milliseconds

_MOST_FILES = 64
_ARRIVED = "arrived"
_MOMENT = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, slots=True)
class Order:
    """The order of sequences of one type; of several columns, the first one decides.

    A batch's beginning travels as text or number through Python, and comes back as a literal, by whose
    value Delta leaves files out.
    """

    sequence_type: T.DataType

    def earliest(self, sequence: Column) -> Column:
        """Returns an aggregate for `reaches`: the beginning of a batch, NULL where this is not known."""
        leading, kind = self._leading(sequence)
        match kind:
            case T.TimestampType():
                return sf.unix_micros(sf.min(leading))  # as text it would depend on a time zone
            case T.BooleanType() | T.DateType() | T.NumericType() | T.StringType() | T.TimestampNTZType():
                return sf.min(leading).cast("string")
            case _:
                return sf.lit(None)

    def reaches(self, sequence: Column, earliest: int | str | None) -> Column:
        """Whether an event may be as late as the beginning of a batch; surely not when FALSE."""
        leading, kind = self._leading(sequence)
        if earliest is None:
            return sf.lit(True)
        value = sf.timestamp_micros(sf.lit(earliest)) if isinstance(kind, T.TimestampType) else sf.lit(earliest)
        return leading >= value.cast(kind)

    @property
    def stats_are_exact(self) -> bool:
        """Whether the statistics of a Delta file say for each type of writer what its greatest sequence can be.

        Those of decimals may be rounded, and those of floats leave NaN out, which is the greatest.
        """
        _, kind = self._path()
        return (
            isinstance(kind, T.IntegralType | T.DateType | T.TimestampType | T.TimestampNTZType)
            or kind == T.StringType()
        )

    def earliest_of(self, events: pa.Table) -> tuple[int | str | None, int | str | None]:
        """Returns the beginning of a batch for `reaches`, and for `may_reach`; of types that are `stats_are_exact`."""
        sequences = events["sequence"].combine_chunks()
        path, kind = self._path()
        for name in path:
            sequences = pc.struct_field(sequences, [name])
        first = pc.min(sequences)
        comparable = _comparable(first)
        return comparable if isinstance(kind, T.TimestampType) else first.cast(pa.string()).as_py(), comparable

    def may_reach(self, log: StoredTable, earliest: int | str | None) -> bool:
        """Whether a file of the log may have an event as late as this, by the statistics of the files; no job."""
        files = added_files(log)
        if files.num_rows == 0:
            return False
        path, kind = self._path()
        greatest = ".".join(("max", "sequence", *path))
        if earliest is None or greatest not in files.column_names or files[greatest].null_count:
            return True
        latest = _comparable(pc.max(files[greatest]))
        if isinstance(latest, int) and isinstance(kind, T.TimestampType | T.TimestampNTZType):
            latest += _STATISTICS_ROUND_DOWN_BY
        return not latest < earliest  # type: ignore[operator]  # both are of the sequence's type

    def _leading(self, sequence: Column) -> tuple[Column, T.DataType]:
        path, kind = self._path()
        for name in path:
            sequence = sequence.getField(name)
        return sequence, kind

    def _path(self) -> tuple[tuple[str, ...], T.DataType]:
        """Returns the names that lead to the column that decides, and its type."""
        path, kind = [], self.sequence_type
        while isinstance(kind, T.StructType):
            path.append(kind.fields[0].name)
            kind = kind.fields[0].dataType
        return tuple(path), kind


def _comparable(value: pa.Scalar[Any]) -> int | str | None:
    """Returns a value that orders as Spark orders it: days and moments (in microseconds) as numbers."""
    if pa.types.is_timestamp(value.type):
        value = value.cast(pa.timestamp("us", tz=value.type.tz)).cast(pa.int64())
    elif pa.types.is_date(value.type):
        value = value.cast(pa.int32())
    plain: int | str | None = value.as_py()
    return plain


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


def _logged(events: T.StructType) -> T.StructType:
    return T.StructType([*events.fields, T.StructField(_ARRIVED, T.TimestampType())])
