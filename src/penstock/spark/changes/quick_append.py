"""Appends few events to a change log without Spark, whose commit takes half a second where this takes milliseconds."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyarrow as pa
from deltalake import CommitProperties, Transaction, write_deltalake
from deltalake import DeltaTable as StoredTable
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

_MOMENT = pa.timestamp("us", tz="UTC")
_FEATURES = frozenset({"appendOnly", "invariants", "timestampNtz"})
_WITHOUT_FEATURES = 2  # the writer version up to which a table can have those features only


def can_append(log: StoredTable, schema: StructType) -> bool:
    """Whether `append` may write rows of this schema: the log has it too, and asks for nothing special."""
    protocol = log.protocol()
    if protocol.min_writer_version > _WITHOUT_FEATURES and not _FEATURES.issuperset(protocol.writer_features or "?"):
        return False
    stored = StructType.fromJson(json.loads(log.schema().to_json()))
    wanted = StructType([*schema.fields, StructField("arrived", TimestampType())])
    return is_plain(schema) and stored.simpleString() == wanted.simpleString()


def append(log: StoredTable, events: pa.Table, transaction: tuple[str, int]) -> None:
    """Appends events, with the time of their arrival, in one commit; once per transaction (app id, version)."""
    app_id, version = transaction
    done = log.transaction_version(app_id)
    if done is not None and done >= version:
        return
    arrived = pa.repeat(pa.scalar(datetime.now(UTC), _MOMENT), events.num_rows)
    properties = CommitProperties(app_transactions=[Transaction(app_id, version)])
    write_deltalake(log, events.append_column("arrived", arrived), mode="append", commit_properties=properties)


def is_plain(kind: DataType) -> bool:
    """Whether values of a type are the same for Arrow and Delta as for Spark, and equal when their bytes are."""
    match kind:
        case StructType():
            return all(is_plain(field.dataType) for field in kind)
        case ArrayType():
            return is_plain(kind.elementType)
        case StringType():
            return kind == StringType()  # no other collation
        case _:
            return isinstance(
                kind, BinaryType | BooleanType | DateType | NumericType | TimestampNTZType | TimestampType
            )
