"""A place in a shard from which its records are read one answer after the other, and a range that is read again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pyarrow as pa

from penstock.connectors.kinesis.client import ExpiredIterator, KinesisClient, PositionGone, ShardGone
from penstock.connectors.kinesis.options import KinesisOptions, stream_name
from penstock.connectors.kinesis.records import arrow_batch
from penstock.connectors.kinesis.shards import ALL_KEYS, TRIM_HORIZON, Shard
from penstock.spark.failures.python_sources import DATA_LOSS, SourceFailure

_KNOWN_RETENTION: Final = timedelta(hours=24)
_NEAR_THE_HORIZON: Final = timedelta(minutes=1)

Record = Mapping[str, Any]


def retention_of(summary: Mapping[str, Any] | None) -> timedelta:
    """Returns how long a stream keeps its records, as its summary says; without one, what each keeps at least."""
    hours = (summary or {}).get("RetentionPeriodHours")
    return _KNOWN_RETENTION if hours is None else timedelta(hours=hours)


class Trimmed(Exception):
    """The record at which to go on is not kept any more; `found` is the first one that is there, None when none is."""

    def __init__(self, found: str | None) -> None:
        self.found = found
        super().__init__(found)


@dataclass(slots=True)
class ShardCursor:
    """Reads a shard forward, in one thread at a time.

    It begins behind the record `last`, at it with `inclusive`, or without one at `start`. An iterator is asked for at
    the record itself, which has to come first: Kinesis does not say that a record is gone.
    `behind` are the milliseconds that the newest answer is behind the newest record, `ended` that the shard is closed
    and was read to its end.
    """

    client: KinesisClient
    stream: str
    shard: str
    start: str | int = TRIM_HORIZON
    last: str | None = None
    inclusive: bool = False
    retention: timedelta = _KNOWN_RETENTION
    behind: int | None = None
    ended: bool = False
    _iterator: str | None = None
    _awaited: str | None = None

    @property
    def at_tip(self) -> bool:
        """Whether nothing more was there when the newest answer was given."""
        return self.ended or not self.behind

    def read(self) -> Sequence[Record]:
        """Returns the next records: often none, also where more follow.

        Raises:
            Trimmed: the record at which to go on is gone; `begin_at_horizon` goes on without it.
            ShardGone, SourceFailure: those of the client.
        """
        if self.ended:
            return ()
        try:
            answer = self.client.records(self.stream, self._iterator or self._new_iterator())
        except ExpiredIterator:
            self._iterator, self.behind = None, self.behind or 1
            return ()
        except PositionGone:
            raise Trimmed(None) from None
        records: Sequence[Record] = answer["Records"]
        self.behind = answer.get("MillisBehindLatest", 1 if records else 0)
        self._iterator = answer.get("NextShardIterator")
        records = self._checked(records)
        self.ended = self._iterator is None
        if records:
            self.last, self.inclusive = records[-1]["SequenceNumber"], False
        return records

    def back_to(self, last: str | None) -> None:
        """Has the next read begin behind a record that was read before; None leaves it where it was made to begin."""
        self.last, self._iterator, self.ended = last, None, False

    def begin_at_horizon(self) -> None:
        """Goes on at the oldest record that is kept."""
        self.start, self.last, self.inclusive, self.ended = TRIM_HORIZON, None, False, False
        self._iterator = self._awaited = None
        self.behind = 1  # until an answer says so

    def _new_iterator(self) -> str:
        self._awaited = self.last
        if self.last is not None:
            position: dict[str, Any] = {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "StartingSequenceNumber": self.last}
        elif isinstance(self.start, int):
            at = datetime.fromtimestamp(self.start / 1000, UTC)
            position = {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": at}
        else:
            position = {"ShardIteratorType": "TRIM_HORIZON"}
        return self.client.iterator(self.stream, self.shard, **position)

    def _checked(self, records: Sequence[Record]) -> Sequence[Record]:
        """The records without the one that was read already, which proves that nothing before them is missing."""
        if self._awaited is None:
            return records
        if not records:
            # A position before the oldest record yields nothing for hours, as far behind as the stream keeps records.
            behind = timedelta(milliseconds=self.behind or 0)
            if self._iterator is None or not self.behind or behind >= self.retention - _NEAR_THE_HORIZON:
                raise Trimmed(None)
            return records
        if records[0]["SequenceNumber"] != self._awaited:
            raise Trimmed(records[0]["SequenceNumber"])
        self._awaited = None
        return records if self.inclusive else records[1:]


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
