"""One stream of a source: its shards as they come and go, how far each was read, how much is fetched, and how fast."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from penstock.connectors.kinesis.client import CLOCK_STEP_MS, KinesisClient, ShardGone
from penstock.connectors.kinesis.cursor import Record, ShardCursor, Trimmed, retention_of
from penstock.connectors.kinesis.options import LATEST, stream_name
from penstock.connectors.kinesis.records import arrow_batch
from penstock.connectors.kinesis.shards import ALL_KEYS, TRIM_HORIZON, Shard, ShardOffset, StreamOffset, readable
from penstock.connectors.kinesis.spool import SpoolFile
from penstock.spark.failures.python_sources import DATA_LOSS, SourceFailure


@dataclass(slots=True)
class RoundLimits:
    """What all shards of a batch share: until when to fetch, how many bytes, and an event that ends it at once."""

    deadline: float
    bytes_left: int
    stop: threading.Event
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, size: int) -> bool:
        """Counts bytes that were fetched; returns whether there is room for more."""
        with self._lock:
            self.bytes_left -= size
            return self.bytes_left > 0


class ShardReader:
    """Fetches a shard's records in order, not faster than the options allow.

    `target` is the time, in milliseconds of the service's clock, up to which records are wanted; None for no end.
    `offset` says how far it was read, with the records of the newest round.
    """

    def __init__(
        self, client: KinesisClient, stream: str, shard: Shard, offset: ShardOffset, retention: timedelta, *,
        target: int | None = None,
    ) -> None:  # fmt: skip
        self.stream = stream
        self.shard = shard
        self.offset = offset
        self.reached = False
        self._client = client
        self._target = target
        self._retention = retention
        self._cursor = ShardCursor(
            client, stream, shard.id, offset.start, offset.last, retention=retention, ended=offset.ended
        )
        self._next_call = 0.0
        if offset.last is None and not offset.ended:
            self._check_loss(None)

    @property
    def behind(self) -> int | None:
        """The milliseconds between the newest record and those that were read; None before the first request."""
        return 0 if self.offset.ended else self._cursor.behind

    @property
    def is_done(self) -> bool:
        """Whether nothing more is to be fetched, in this run or ever."""
        return self.reached or self.offset.ended

    def begin_batch(self) -> None:
        """Forgets which records the batch before had."""
        self.offset = replace(self.offset, first=None, records=0)

    def fetch(self, limits: RoundLimits, file: SpoolFile) -> SpoolFile | None:
        """Fetches until nothing more is there, or a limit is met; returns the file with the records, None without any.

        Raises:
            SourceFailure: that of the client; KINESIS_DATA_LOSS.
        """
        while not self.is_done and not limits.stop.is_set():
            pause = self._next_call - time.monotonic()
            if time.monotonic() + max(pause, 0) > limits.deadline:
                break
            if pause > 0 and limits.stop.wait(pause):
                break
            started = time.monotonic()
            size = self._take(self._until_target(self._read()), file)
            self._next_call = started + max(self._client.options.min_fetch_period, size / self._client.options.rate)
            if self._cursor.at_tip and not self.reached:
                self._note_tip()
                break
            if not limits.take(size):
                break
        file.close()
        return file if self.offset.records else None

    def _read(self) -> Sequence[Record]:
        try:
            return self._cursor.read()
        except Trimmed as trimmed:
            self._check_loss(trimmed.found)
            self._cursor.begin_at_horizon()
        except ShardGone:
            self._check_loss(None)
            self._cursor.ended = True
        return ()

    def _check_loss(self, found: str | None) -> None:
        """What came before `since` was read; so nothing is lost where the stream still keeps all that came later."""
        retained_from = self._client.now - self._retention
        if not self._client.options.fail_on_data_loss or self.offset.since >= retained_from.timestamp() * 1000:
            return
        where = f"{self.shard.id} of the stream '{stream_name(self.stream)}'"
        since = datetime.fromtimestamp(self.offset.since / 1000, UTC)
        behind = "" if self.offset.last is None else f" behind sequence number {self.offset.last}"
        before = "" if found is None else f" and before {found}, the first that is left"
        raise SourceFailure(
            DATA_LOSS, lost=f"records of {where}{behind}, which came since {since:%Y-%m-%d %H:%M} UTC{before}"
        )

    def _until_target(self, records: Sequence[Record]) -> Sequence[Record]:
        if self._target is None:
            return records
        for number, record in enumerate(records):
            came: Any = record.get("ApproximateArrivalTimestamp")
            if came is not None and came.timestamp() * 1000 > self._target:
                self.reached = True
                self._cursor.back_to(records[number - 1]["SequenceNumber"] if number else self.offset.last)
                return records[:number]
        return records

    def _take(self, records: Sequence[Record], file: SpoolFile) -> int:
        if not records:
            return 0
        name = stream_name(self.stream)
        file.add(arrow_batch(records, name, self.shard.id, self.shard.hash_keys))
        came: Any = records[-1].get("ApproximateArrivalTimestamp")
        self.offset = replace(
            self.offset,
            since=max(self.offset.since, int(came.timestamp() * 1000) if came else 0),
            first=self.offset.first or records[0]["SequenceNumber"],
            last=records[-1]["SequenceNumber"],
            records=self.offset.records + len(records),
        )
        return sum(len(record["Data"]) + len(record["PartitionKey"]) for record in records)

    def _note_tip(self) -> None:
        self.reached = self._target is not None
        if self._cursor.ended:  # its children have records since then, not since now
            self.offset = replace(self.offset, ended=True)
            return
        since = int(self._client.now.timestamp() * 1000) - CLOCK_STEP_MS
        self.offset = replace(self.offset, since=max(since, self.offset.since))


@dataclass(slots=True)
class ReadStream:
    """A stream while a query reads it; `open` begins where an entry of the offset log ends."""

    client: KinesisClient
    stream: str
    created: str
    retention: timedelta
    target: int | None
    readers: dict[str, ShardReader] = field(default_factory=dict)
    _shards: dict[str, Shard] = field(default_factory=dict)
    _listed_at: float = 0.0

    @classmethod
    def open(cls, client: KinesisClient, stream: str, entry: StreamOffset | None, *, target: int | None) -> ReadStream:
        """Returns the stream behind `entry`, or without one at its initial position.

        Raises:
            SourceFailure: that of the client; KINESIS_DATA_LOSS.
        """
        summary = client.describe(stream) or {}
        made = summary.get("StreamCreationTimestamp")
        created = "" if made is None else f"{made.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        found = cls(client, stream, created, retention_of(summary), target)
        found._list()
        if entry is not None and created and entry.created and created != entry.created:
            if client.options.fail_on_data_loss:
                lost = f"what was not read of the stream '{stream_name(stream)}' of {entry.created}: "
                raise SourceFailure(DATA_LOSS, lost=f"{lost}the one of that name was created {created}")
            entry = StreamOffset(created, {})
        for shard, offset in ({} if entry is None else entry.shards).items():
            if not offset.ended or shard in found._shards:  # else it is past, for all that read it
                found._add(shard, offset)
        for shard in sorted(found._shards.keys() - found.readers.keys()):
            found._add(shard, found._first_offset(shard) if entry is None else found._beginning(shard))
        return found

    def refresh(self) -> None:
        """Takes up new shards: when it is time to look, or when a shard has come to its end."""
        waits = any(
            reader.offset.ended and all(reader.shard.id not in shard.parents for shard in self._shards.values())
            for reader in self.readers.values()
        )
        age = time.monotonic() - self._listed_at
        if age < self.client.options.shard_fetch_interval and not (
            waits and age > self.client.options.min_fetch_period
        ):
            return
        self._list()
        for shard in sorted(self._shards.keys() - self.readers.keys()):
            self._add(shard, self._beginning(shard))

    def readable(self) -> list[ShardReader]:
        """Returns the readers of the shards that may be read now and are not done.

        A shard whose end is in the batch that comes next is not at its end yet for its children.
        """

        def is_read(shard: str) -> bool:
            reader = self.readers.get(shard)
            return reader is None or reader.offset.ended

        shards = [reader.shard for reader in self.readers.values()]
        return [self.readers[shard.id] for shard in readable(shards, is_read) if not self.readers[shard.id].is_done]

    def offset(self) -> StreamOffset:
        """Returns how far the stream was read, with the records of the newest round."""
        return StreamOffset(self.created, {shard: reader.offset for shard, reader in self.readers.items()})

    def _list(self) -> None:
        self._shards = {each["ShardId"]: Shard.of(each) for each in self.client.shards(self.stream)}
        self._listed_at = time.monotonic()

    def _add(self, shard: str, offset: ShardOffset) -> None:
        # One that is not listed any more is asked for all the same: Kinesis then says that it is gone.
        known = self._shards.get(shard) or Shard(shard, ALL_KEYS, (), closed=True)
        self.readers[shard] = ShardReader(self.client, self.stream, known, offset, self.retention, target=self.target)

    def _now(self) -> int:
        return int(self.client.now.timestamp() * 1000)

    def _first_offset(self, shard: str) -> ShardOffset:
        """Where a stream begins that nothing was read of; `latest` is the time of now, so that it stays what it was."""
        position = self.client.options.initial_position
        if position == LATEST:
            return ShardOffset(self._now(), start=self._now(), ended=self._shards[shard].closed)
        return ShardOffset(self._now(), start=position)

    def _beginning(self, shard: str) -> ShardOffset:
        """Where a shard begins that came later: at its first record, which came after the last one of its parents."""
        parents = [self.readers[each].offset for each in self._shards[shard].parents if each in self.readers]
        return ShardOffset(min((each.since for each in parents), default=self._now()), start=TRIM_HORIZON)
