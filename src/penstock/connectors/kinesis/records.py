"""The columns of the source, and records as Arrow batches of them, those of the Kinesis Producer Library taken apart.

Its aggregation format puts many records of a user's into one: four bytes, a protobuf message, and the MD5 sum of the
message. What only looks like that is a record like any other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

SCHEMA: Final = (
    "partitionKey STRING, data BINARY, stream STRING, shardId STRING, sequenceNumber STRING, "
    "approximateArrivalTimestamp TIMESTAMP"
)
_TYPES: Final[dict[str, pa.DataType]] = {
    "partitionKey": pa.string(),
    "data": pa.binary(),
    "stream": pa.string(),
    "shardId": pa.string(),
    "sequenceNumber": pa.string(),
    "approximateArrivalTimestamp": pa.timestamp("us", tz="UTC"),
}
ARROW_SCHEMA: Final = pa.schema(_TYPES)

_MAGIC: Final = b"\xf3\x89\x9a\xc2"
_DIGEST: Final = 16
_KEYS, _HASH_KEYS, _RECORDS = 1, 2, 3  # fields of the message
_KEY_INDEX, _HASH_KEY_INDEX, _DATA = 1, 2, 3  # of one record in it


def arrow_batch(
    records: Iterable[Mapping[str, Any]], stream: str, shard: str, hash_keys: tuple[int, int]
) -> pa.RecordBatch:
    """Returns records of a shard, as GetRecords gives them, as one batch; an aggregated one gives several rows."""
    keys: list[str] = []
    data: list[bytes] = []
    numbers: list[str] = []
    times: list[Any] = []
    for record in records:
        for key, content in user_records(record["PartitionKey"], record["Data"], *hash_keys):
            keys.append(key)
            data.append(content)
            numbers.append(record["SequenceNumber"])
            times.append(record.get("ApproximateArrivalTimestamp"))
    rows = len(keys)
    columns: list[list[Any]] = [keys, data, [stream] * rows, [shard] * rows, numbers, times]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, ARROW_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)


def user_records(key: str, data: bytes, low: int, high: int) -> list[tuple[str, bytes]]:
    """Returns the partition key and the data of each of the user's records in one of Kinesis; itself if there is one.

    `low` and `high` are the hash keys of the shard. Its producer sends an aggregated record again that came into a
    shard where one of its keys does not belong, as may happen in a split: as in Amazon's library, it is left out.
    """
    if not data.startswith(_MAGIC):
        return [(key, data)]
    message, digest = data[len(_MAGIC) : -_DIGEST], data[-_DIGEST:]
    if hashlib.md5(message, usedforsecurity=False).digest() != digest:
        return [(key, data)]
    try:
        return _aggregated(message, low, high)
    except (IndexError, KeyError, ValueError):
        return [(key, data)]


def _aggregated(message: bytes, low: int, high: int) -> list[tuple[str, bytes]]:
    fields = list(_fields(message))
    keys = [_content(value).decode() for number, value in fields if number == _KEYS]
    hash_keys = [_content(value).decode() for number, value in fields if number == _HASH_KEYS]
    found: list[tuple[str, bytes]] = []
    for record in (dict(_fields(_content(value))) for number, value in fields if number == _RECORDS):
        key = keys[_index(record[_KEY_INDEX])]
        explicit = record.get(_HASH_KEY_INDEX)
        placed = _hash(key) if explicit is None else int(hash_keys[_index(explicit)])
        if not low <= placed <= high:
            return []
        found.append((key, _content(record.get(_DATA, b""))))
    return found


def _hash(key: str) -> int:
    return int.from_bytes(hashlib.md5(key.encode(), usedforsecurity=False).digest())


def _index(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise ValueError(value)  # noqa: TRY004 - it is no such message, whatever it is
    return value


def _content(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError(value)  # noqa: TRY004 - as above
    return value


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protobuf message, numbers and bytes; ValueError or IndexError for anything else."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        value, at = _varint(message, at)
        if kind == 0:
            yield number, value
        elif kind == 2 and at + value <= len(message):
            yield number, message[at : at + value]
            at += value
        else:
            raise ValueError(kind)


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
