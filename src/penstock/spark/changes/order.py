"""Where a batch begins in the order of all events: what is older cannot change which event of a key is the newest."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)


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

    def _leading(self, sequence: Column) -> tuple[Column, DataType]:
        kind = self.sequence_type
        while isinstance(kind, StructType):
            sequence, kind = sequence.getField(kind.fields[0].name), kind.fields[0].dataType
        return sequence, kind
