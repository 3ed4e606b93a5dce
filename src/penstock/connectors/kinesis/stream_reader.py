"""The source as Spark sees it: a Python data source with offsets that say which records a batch has."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from penstock.connectors.kinesis.client import CLOCK_STEP_MS, KinesisClient
from penstock.connectors.kinesis.cursor import ShardRange, read_again
from penstock.connectors.kinesis.options import KinesisOptions, parse_options, stream_name
from penstock.connectors.kinesis.records import SCHEMA
from penstock.connectors.kinesis.shards import KinesisOffset
from penstock.connectors.kinesis.spool import Spool, SpoolFile, spooled
from penstock.connectors.kinesis.stream import ReadStream, RoundLimits, ShardReader

_SHARDS_AT_ONCE: Final = 32
_PATIENCE: Final = 1.0  # seconds for which one question of Spark's waits for records
_STALE_AFTER_MS: Final = 3_600_000

Files = dict[tuple[str, str], SpoolFile]


class KinesisDataSource(DataSource):
    """`format("kinesis")`. Spark makes one where the query starts, and sends it to the process that reads."""

    @classmethod
    def name(cls) -> str:
        """Returns the name of the format."""
        return "kinesis"

    def schema(self) -> str:
        """Returns the columns, the same for each stream."""
        return SCHEMA

    def streamReader(self, schema: StructType) -> KinesisStreamReader:
        """Called once for each start of a query, in a process of its own, and for its tasks."""
        return KinesisStreamReader(parse_options(dict(self.options)))


@dataclass(frozen=True)
class _Partition(InputPartition):
    """A shard's records of one batch, with the file in which they are, if it still is there."""

    records: ShardRange
    path: str | None


class KinesisStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads streams; lives for one start of a query. Its offsets are `KinesisOffset` entries.

    Failures are `SourceFailure`. Tasks get a copy, of which only the options are used.
    """

    def __init__(self, options: KinesisOptions) -> None:
        self._options = options
        self._ends_at_tip = False
        self._reading: _Reading | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_options": self._options, "_ends_at_tip": False, "_reading": None}

    def initialOffset(self) -> dict[str, Any]:
        """Returns an entry without streams: the first batch writes down where they begin, whatever else it reads."""
        return KinesisOffset().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        """Returns no limit: the options of the source are the limits."""
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Called before the first batch of a query that ends: what comes from now on is left to the next run."""
        self._ends_at_tip = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Fetches the records of the next batch and returns its entry; `start` itself when there are none."""
        if self._reading is None or not self._reading.goes_on_from(start):
            self.stop()
            self._reading = _Reading(self._options, start, ends_at_tip=self._ends_at_tip)
        return self._reading.next_entry() or start

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Returns how far the reader is behind; it is in Spark's progress, and no offset is made of it."""
        behind = None if self._reading is None else self._reading.behind
        return None if behind is None else {"millisBehindLatest": behind}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Returns what the tasks of a batch read, one for each shard that has records in it."""
        if start == end:
            return []
        files = {} if self._reading is None else self._reading.files(end)
        found: list[InputPartition] = []
        for name, stream in KinesisOffset.from_json(end).streams.items():
            given = next((each for each in self._options.streams if stream_name(each) == name), name)
            for shard, offset in stream.shards.items():
                if offset.first is not None and offset.last is not None:
                    records = ShardRange(given, shard, offset.first, offset.last, offset.records)
                    file = files.get((name, shard))
                    found.append(_Partition(records, None if file is None or file.path is None else str(file.path)))
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Returns the records of a partition; called in a task, maybe on another machine and more than once."""
        assert isinstance(partition, _Partition)
        spooled_records = spooled(partition.path)
        return read_again(self._options, partition.records) if spooled_records is None else spooled_records

    def commit(self, end: dict[str, Any]) -> None:
        """Called when a batch is done: its files can go."""
        if self._reading is not None:
            self._reading.forget(end)

    def stop(self) -> None:
        """Called at the query's end."""
        if self._reading is not None:
            self._reading.close()
            self._reading = None


class _Reading:
    """A query on its way through its streams. The next batch is fetched while Spark works at the one before.

    `behind` are the most milliseconds by which a shard was behind its newest record when the newest batch was fetched;
    None when that is not known.
    """

    def __init__(self, options: KinesisOptions, start: Mapping[str, Any], *, ends_at_tip: bool) -> None:
        client = KinesisClient.connect(options)
        entry = KinesisOffset.from_json(start)
        target = None
        if ends_at_tip:
            client.describe(options.streams[0])
            target = int(client.now.timestamp() * 1000) + CLOCK_STEP_MS
        self._options = options
        self._last_entry: Mapping[str, Any] = start
        self._stop = threading.Event()
        self._files: dict[str, Files] = {}
        self._ends = ends_at_tip
        self._streams = [
            ReadStream.open(client, stream, entry.streams.get(stream_name(stream)), target=target)
            for stream in options.streams
        ]
        self._is_new = {stream_name(stream) for stream in options.streams} != entry.streams.keys()
        self._spool = Spool()
        self._shards_pool = ThreadPoolExecutor(_SHARDS_AT_ONCE, thread_name_prefix="kinesis-shard")
        self._ahead_pool = ThreadPoolExecutor(1, thread_name_prefix="kinesis-ahead")
        self._ahead: Future[Files] | None = None
        self.behind: int | None = None

    def goes_on_from(self, start: Mapping[str, Any]) -> bool:
        """Whether `start` is the entry that was returned last; else Spark has gone back."""
        return start == self._last_entry

    def next_entry(self) -> dict[str, Any] | None:
        """Waits for records, a moment, or to the end where the query ends at the tip; None when there are none."""
        until = time.monotonic() + _PATIENCE
        while True:
            files = self._fetch() if self._ahead is None else self._ahead.result()
            self._ahead = None
            known = [reader.behind for stream in self._streams for reader in stream.readers.values()]
            self.behind = max((each for each in known if each is not None), default=None)
            if files or self._is_new or self._is_stale():
                return self._new_entry(files)
            readable = self._readable()
            if self._ends and not readable:
                return None
            if not self._ends and time.monotonic() >= until:
                return None
            if not readable:
                self._stop.wait(min(self._options.shard_fetch_interval, _PATIENCE))

    def files(self, entry: Mapping[str, Any]) -> Files:
        """Returns the files with the records of an entry; none when they were fetched by another process."""
        return self._files.get(json.dumps(entry), {})

    def forget(self, entry: Mapping[str, Any]) -> None:
        """Deletes the files of an entry, and of those before it."""
        key = json.dumps(entry)
        while key in self._files:
            oldest = next(iter(self._files))
            for file in self._files.pop(oldest).values():
                file.drop()

    def close(self) -> None:
        """Ends all threads, and deletes the files."""
        self._stop.set()
        self._ahead_pool.shutdown(cancel_futures=True)
        self._shards_pool.shutdown(cancel_futures=True)
        self._spool.close()

    def _readable(self) -> list[ShardReader]:
        return [reader for stream in self._streams for reader in stream.readable()]

    def _fetch(self) -> Files:
        for stream in self._streams:
            stream.refresh()
        readers = self._readable()
        for stream in self._streams:
            for reader in stream.readers.values():
                reader.begin_batch()
        limits = RoundLimits(
            time.monotonic() + self._options.max_fetch_duration, self._options.fetch_buffer, self._stop
        )
        files = [self._spool.new_file() for _ in readers]
        fetched = self._shards_pool.map(lambda reader, file: reader.fetch(limits, file), readers, files)
        return {
            (stream_name(reader.stream), reader.shard.id): file
            for reader, file in zip(readers, fetched, strict=True)
            if file is not None
        }

    def _new_entry(self, files: Files) -> dict[str, Any]:
        for stream in self._streams:
            stream.refresh()  # what a shard at its end was split into is in the same entry as its end
        entry = KinesisOffset({stream_name(each.stream): each.offset() for each in self._streams}).to_json()
        self._last_entry, self._is_new = entry, False
        self._files[json.dumps(entry)] = files
        self._ahead = self._ahead_pool.submit(self._fetch)
        return entry

    def _is_stale(self) -> bool:
        """Whether an entry without records is due: a quiet shard is known to be read to its end, as long as ago."""
        before = KinesisOffset.from_json(self._last_entry).streams
        return any(
            reader.offset.since - offset.since > _STALE_AFTER_MS
            for stream in self._streams
            for shard, reader in stream.readers.items()
            if (offset := before[stream_name(stream.stream)].shards.get(shard)) is not None and not offset.ended
        )
