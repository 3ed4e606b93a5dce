"""Where a batch begins in the order of all events: what is older cannot change which event of a key is the newest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable as StoredTable
from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    IntegralType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

_STATISTICS_ROUND_DOWN_BY = 1000  # microseconds: Delta keeps a file's timestamps in milliseconds


@dataclass(frozen=True, slots=True)
class Order:
    """The order of sequences of one type; of several columns, the first one decides.

    A batch's beginning travels as text or number through Python, and comes back as a literal, by whose
    value Delta leaves files out.
    """

    sequence_type: DataType

    def earliest(self, sequence: Column) -> Column:
        """Returns an aggregate for `reaches`: the beginning of a batch, NULL where this is not known."""
        leading, kind = self._leading(sequence)
        match kind:
            case TimestampType():
                return sf.unix_micros(sf.min(leading))  # as text it would depend on a time zone
            case BooleanType() | DateType() | NumericType() | StringType() | TimestampNTZType():
                return sf.min(leading).cast("string")
            case _:
                return sf.lit(None)

    def reaches(self, sequence: Column, earliest: int | str | None) -> Column:
        """Whether an event may be as late as the beginning of a batch; surely not when FALSE."""
        leading, kind = self._leading(sequence)
        if earliest is None:
            return sf.lit(True)
        value = sf.timestamp_micros(sf.lit(earliest)) if isinstance(kind, TimestampType) else sf.lit(earliest)
        return leading >= value.cast(kind)

    @property
    def stats_are_exact(self) -> bool:
        """Whether the statistics of a Delta file say for each type of writer what its greatest sequence can be.

        Those of decimals may be rounded, and those of floats leave NaN out, which is the greatest.
        """
        _, kind = self._path()
        return isinstance(kind, IntegralType | DateType | TimestampType | TimestampNTZType) or kind == StringType()

    def earliest_of(self, events: pa.Table) -> tuple[int | str | None, int | str | None]:
        """Returns the beginning of a batch for `reaches`, and for `may_reach`; of types that are `stats_are_exact`."""
        sequences = events["sequence"].combine_chunks()
        path, kind = self._path()
        for name in path:
            sequences = pc.struct_field(sequences, [name])
        first = pc.min(sequences)
        comparable = _comparable(first)
        return comparable if isinstance(kind, TimestampType) else first.cast(pa.string()).as_py(), comparable

    def may_reach(self, log: StoredTable, earliest: int | str | None) -> bool:
        """Whether a file of the log may have an event as late as this, by the statistics of the files; no job."""
        files = pa.table(log.get_add_actions(flatten=True))
        if files.num_rows == 0:
            return False
        path, kind = self._path()
        greatest = ".".join(("max", "sequence", *path))
        if earliest is None or greatest not in files.column_names or files[greatest].null_count:
            return True
        latest = _comparable(pc.max(files[greatest]))
        if isinstance(latest, int) and isinstance(kind, TimestampType | TimestampNTZType):
            latest += _STATISTICS_ROUND_DOWN_BY
        return not latest < earliest  # type: ignore[operator]  # both are of the sequence's type

    def _leading(self, sequence: Column) -> tuple[Column, DataType]:
        path, kind = self._path()
        for name in path:
            sequence = sequence.getField(name)
        return sequence, kind

    def _path(self) -> tuple[tuple[str, ...], DataType]:
        """Returns the names that lead to the column that decides, and its type."""
        path, kind = [], self.sequence_type
        while isinstance(kind, StructType):
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
