"""The records of one shard that a batch has, read again from Kinesis: in a task, without the process that fetched."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from penstock.connectors.kinesis.client import KinesisClient, ShardGone
from penstock.connectors.kinesis.cursor import ShardCursor, Trimmed, retention_of
from penstock.connectors.kinesis.options import KinesisOptions, stream_name
from penstock.connectors.kinesis.records import arrow_batch
from penstock.connectors.kinesis.shards import ALL_KEYS, Shard
from penstock.spark.failures.python_sources import DATA_LOSS, SourceFailure


@dataclass(frozen=True, slots=True)
class ShardRange:
    """The records of a shard from `first` to `last`, both included; `count` is their number."""

    stream: str
    shard: str
    first: str
    last: str
    count: int


def read_again(options: KinesisOptions, wanted: ShardRange) -> Iterator[pa.RecordBatch]:
    """Yields exactly the records of a range.

    Raises:
        SourceFailure: KINESIS_DATA_LOSS when one of them is not kept any more; those of the client.
    """
    client = KinesisClient.connect(options)
    shard = next((Shard.of(each) for each in client.shards(wanted.stream) if each["ShardId"] == wanted.shard), None)
    retention = retention_of(client.describe(wanted.stream))
    cursor = ShardCursor(client, wanted.stream, wanted.shard, last=wanted.first, inclusive=True, retention=retention)
    name, hash_keys = stream_name(wanted.stream), shard.hash_keys if shard else ALL_KEYS
    count, last = 0, int(wanted.last)
    while count < wanted.count:
        try:
            records = cursor.read()
        except (Trimmed, ShardGone) as gone:
            if options.fail_on_data_loss or isinstance(gone, ShardGone):
                break
            cursor.begin_at_horizon()
            continue
        found = [record for record in records if int(record["SequenceNumber"]) <= last]
        count += len(found)
        if found:
            yield arrow_batch(found, name, wanted.shard, hash_keys)
        if len(found) < len(records) or (not records and cursor.at_tip):
            break
        if count < wanted.count:
            time.sleep(options.min_fetch_period)
    if count != wanted.count and options.fail_on_data_loss:
        which = f"from sequence number {wanted.first} to {wanted.last} of {wanted.shard} of the stream '{name}'"
        raise SourceFailure(DATA_LOSS, lost=f"{wanted.count - count} of the {wanted.count} records {which}")
