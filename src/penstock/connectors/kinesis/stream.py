"""One stream of a source: its shards as they come and go, and how far each was read."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, timedelta

from penstock.connectors.kinesis.client import KinesisClient
from penstock.connectors.kinesis.cursor import retention_of
from penstock.connectors.kinesis.options import LATEST, stream_name
from penstock.connectors.kinesis.shard_reader import ShardReader
from penstock.connectors.kinesis.shards import ALL_KEYS, TRIM_HORIZON, Shard, ShardOffset, StreamOffset, readable
from penstock.spark.failures.python_sources import DATA_LOSS, SourceFailure


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
