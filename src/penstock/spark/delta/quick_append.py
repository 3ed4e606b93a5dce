"""Appends few rows to a plain Delta table without Spark, which needs half a second where this takes milliseconds.

Spark and delta-rs must not commit to one table at the same moment: one of them would fail, or, where Spark commits by
renaming, be replaced. So such a table has one writer at a time, who holds its `commit_lock`.
"""

from __future__ import annotations

import json
import threading

import pyarrow as pa
from deltalake import ColumnProperties, CommitProperties, Transaction, WriterProperties, write_deltalake
from deltalake import DeltaTable as StoredTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql import types as T  # noqa: N812 - PySpark's own spelling

MOST_ROWS = 10_000
"""How many rows `few_rows` takes at most."""

MOST_BYTES = 4_096
"""How long a row that it takes is at most, as text."""

_FEATURES = frozenset({"appendOnly", "invariants", "timestampNtz"})
_WITHOUT_FEATURES = 2  # the writer version up to which a table can have those features only

# Delta-rs rounds the bounds of decimals and leaves NaN out of those of floats: a reader that asks for a range could
# pass over a file that has it.
_NO_BOUNDS = WriterProperties(
    compression="SNAPPY", default_column_properties=ColumnProperties(statistics_enabled="NONE")
)


_locks: dict[str, threading.Lock] = {}


def commit_lock(path: str) -> threading.Lock:
    """Returns the lock that this process holds while it commits to the table at `path`, with Spark or without."""
    return _locks.setdefault(path, threading.Lock())


def can_append(table: StoredTable, schema: T.StructType) -> bool:
    """Whether `append` may write rows of this schema: the table has it too, and asks for nothing special."""
    protocol = table.protocol()
    if protocol.min_writer_version > _WITHOUT_FEATURES and not _FEATURES.issuperset(protocol.writer_features or "?"):
        return False
    stored = T.StructType.fromJson(json.loads(table.schema().to_json()))
    return is_plain(schema) and stored.simpleString() == schema.simpleString()


def append(table: StoredTable, rows: pa.Table, transaction: tuple[str, int], *, bounds: bool = True) -> None:
    """Appends rows in one commit; once per transaction (app id, version).

    `bounds` says in the commit what the least and greatest values of the new file are.
    """
    app_id, version = transaction
    done = table.transaction_version(app_id)
    if done is not None and done >= version:
        return
    properties = CommitProperties(app_transactions=[Transaction(app_id, version)])
    if bounds:
        write_deltalake(table, rows, mode="append", commit_properties=properties)
    else:
        write_deltalake(table, rows, mode="append", commit_properties=properties, writer_properties=_NO_BOUNDS)


def few_rows(rows: DataFrame, *, count: int) -> pa.Table | None:
    """Returns `rows`, which are `count`, through the driver; None if they are many, or one of them is long.

    `rows` is executed once, or not at all.
    """
    if count > MOST_ROWS:
        return None
    found = rows.where(sf.octet_length(sf.struct("*").cast("string")) <= MOST_BYTES).toArrow()
    return found if found.num_rows == count else None


def is_plain(kind: T.DataType) -> bool:
    """Whether values of a type are the same for Arrow and Delta as for Spark, and equal when their bytes are."""
    match kind:
        case T.StructType():
            return all(is_plain(field.dataType) for field in kind)
        case T.ArrayType():
            return is_plain(kind.elementType)
        case T.StringType():
            return kind == T.StringType()  # no other collation
        case _:
            return isinstance(
                kind, T.BinaryType | T.BooleanType | T.DateType | T.NumericType | T.TimestampNTZType | T.TimestampType
            )
