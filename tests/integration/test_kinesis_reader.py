"""The source against a Kinesis on loopback, asked as Spark asks it, without Spark."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from tests.integration.kinesis_server import KinesisServer
from tests.integration.moto_server import REGION

from penstock.connectors.kinesis.options import parse_options
from penstock.connectors.kinesis.stream_reader import KinesisStreamReader
from penstock.spark.failures.python_sources import SourceFailure

Entry = dict[str, Any]


class Query:
    """Asks a reader for one batch after the other, as a streaming query does."""

    def __init__(self, options: dict[str, str], at: Entry | None = None, *, available_now: bool = False) -> None:
        self.reader = KinesisStreamReader(parse_options(options))
        self.at: Entry = self.reader.initialOffset() if at is None else at
        self.before: Entry = self.at
        if available_now:
            self.reader.prepareForTriggerAvailableNow()

    def batch(self) -> list[Any] | None:
        """Runs one batch and returns its rows, None when there is none to run."""
        end = json.loads(json.dumps(self.reader.latestOffset(self.at, ReadAllAvailable())))
        if end == self.at:
            return None
        self.before, self.at = self.at, end
        return self.rows(self.before, end)

    def rows(self, start: Entry, end: Entry) -> list[Any]:
        partitions = self.reader.partitions(start, end)
        return [row for part in partitions for batch in self.reader.read(part) for row in batch.to_pylist()]

    def run(self, count: int, *, within: float = 10.0) -> list[Any]:
        """Runs batches until `count` rows have come."""
        found: list[Any] = []
        until = time.monotonic() + within
        while len(found) < count and time.monotonic() < until:
            found += self.batch() or []
            self.reader.commit(self.at)
        return found

    def to_the_end(self) -> list[Any]:
        found: list[Any] = []
        while (rows := self.batch()) is not None:
            found += rows
        return found


@pytest.fixture
def queries() -> Iterator[list[Query]]:
    found: list[Query] = []
    yield found
    for query in found:
        query.reader.stop()


def values(rows: list[Any]) -> list[str]:
    return [row["data"].decode() for row in rows]


def test_all_columns_of_each_record(kinesis: KinesisServer, queries: list[Query]) -> None:
    kinesis.create("columns", shards=2)
    numbers = kinesis.put("columns", [f"v{n}" for n in range(50)])
    queries.append(query := Query(kinesis.options("columns"), available_now=True))
    rows = query.to_the_end()
    assert sorted(row["sequenceNumber"] for row in rows) == sorted(numbers)
    assert {row["stream"] for row in rows} == {"columns"}
    assert {row["shardId"] for row in rows} == {"shardId-000000000000", "shardId-000000000001"}
    assert {(row["partitionKey"], row["data"]) for row in rows} == {(f"key-{n}", f"v{n}".encode()) for n in range(50)}
    assert all(abs(row["approximateArrivalTimestamp"].timestamp() - time.time()) < 60 for row in rows)


def test_the_end_of_a_run_is_the_tip_that_it_saw(kinesis: KinesisServer, queries: list[Query]) -> None:
    kinesis.create("tip")
    kinesis.put("tip", [f"v{n}" for n in range(30)])
    options = kinesis.options("tip", maxRecordsPerFetch="10", fetchBufferSize="1")  # one answer a batch
    queries.append(query := Query(options, available_now=True))
    rows = query.batch() or []
    assert len(rows) == 10
    time.sleep(2.1)  # the service tells its time in seconds
    kinesis.put("tip", ["later"])
    assert values(rows + query.to_the_end()) == [f"v{n}" for n in range(30)]
    queries.append(following := Query(kinesis.options("tip"), query.at, available_now=True))
    assert values(following.to_the_end()) == ["later"]


def test_split_and_merged_shards_are_read_in_the_order_of_their_keys(
    kinesis: KinesisServer, queries: list[Query]
) -> None:
    kinesis.create("resharded", shards=2)
    queries.append(query := Query(kinesis.options("resharded")))
    sent = kinesis.put("resharded", [f"{n}" for n in range(40)])
    rows = query.run(20)
    kinesis.split("resharded", 0)
    sent += kinesis.put("resharded", [f"{n}" for n in range(40, 80)])
    rows += query.run(80 - len(rows))
    kinesis.merge("resharded", 2, 3)
    kinesis.merge("resharded", 4, 1)
    sent += kinesis.put("resharded", [f"{n}" for n in range(80, 120)])
    rows += query.run(120 - len(rows))
    assert query.batch() is None
    assert sorted(row["sequenceNumber"] for row in rows) == sorted(sent)
    by_key: dict[str, list[int]] = {}
    for row in rows:
        by_key.setdefault(row["partitionKey"], []).append(int(row["sequenceNumber"]))
    assert all(numbers == sorted(numbers) for numbers in by_key.values())
    assert len(query.at["streams"]["resharded"]["shards"]) == 6


def test_a_shard_split_while_nothing_runs(kinesis: KinesisServer, queries: list[Query]) -> None:
    kinesis.create("split", shards=1)
    sent = kinesis.put("split", ["a", "b"])
    queries.append(first := Query(kinesis.options("split"), available_now=True))
    rows = first.to_the_end()
    sent += kinesis.put("split", ["c"])
    kinesis.split("split", 0)
    sent += kinesis.put("split", ["d", "e"])
    kinesis.split("split", 1)
    sent += kinesis.put("split", ["f", "g"])
    queries.append(second := Query(kinesis.options("split"), first.at, available_now=True))
    batches = []
    while (batch := second.batch()) is not None:
        batches.append({int(row["shardId"][-3:]) for row in batch})
        rows += batch
    assert batches[:2] == [{0}, {1, 2}]
    assert [shards <= {3, 4} for shards in batches[2:]] == [True]
    assert [row["sequenceNumber"] for row in rows if row["shardId"].endswith("00")] == sent[:3]
    assert sorted(row["sequenceNumber"] for row in rows) == sorted(sent)


def test_a_batch_that_runs_again_has_the_same_records(kinesis: KinesisServer, queries: list[Query]) -> None:
    kinesis.create("again", shards=2)
    kinesis.put("again", [f"v{n}" for n in range(100)])
    queries.append(query := Query(kinesis.options("again", maxRecordsPerFetch="7", maxFetchDuration="50ms")))
    batches: list[tuple[list[Any], Entry, Entry]] = []
    while len(batches) < 3:
        if rows := query.batch():  # a busy machine may get none within the 50 ms
            batches.append((rows, query.before, query.at))
    kinesis.put("again", ["more"])
    kinesis.split("again", 0)
    query.reader.stop()  # with its files
    queries.append(after := Query(kinesis.options("again", maxRecordsPerFetch="3")))
    for rows, start, end in batches:
        assert sorted(after.rows(start, end), key=str) == sorted(rows, key=str)
    assert after.rows(end, end) == []


def test_where_a_stream_begins_is_written_down(kinesis: KinesisServer, queries: list[Query]) -> None:
    kinesis.create("latest")
    kinesis.put("latest", ["old"])
    time.sleep(1.1)
    options = kinesis.options("latest", initialPosition="LATEST")
    queries.append(first := Query(options, available_now=True))
    assert first.to_the_end() == []
    kinesis.put("latest", ["while nothing ran"])
    queries.append(second := Query(options, first.at, available_now=True))
    assert values(second.to_the_end()) == ["while nothing ran"]


def test_a_beginning_at_a_time(kinesis: KinesisServer, queries: list[Query]) -> None:
    kinesis.create("at")
    kinesis.put("at", ["before"])
    time.sleep(1.1)
    at = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    time.sleep(0.1)
    kinesis.put("at", ["after"])
    position = json.dumps({"at_timestamp": at, "format": "yyyy-MM-dd HH:mm:ss ZZZ"})
    queries.append(query := Query(kinesis.options("at", initialPosition=position), available_now=True))
    assert values(query.to_the_end()) == ["after"]


def test_throttling_and_expired_iterators_are_waited_out(kinesis: KinesisServer, queries: list[Query]) -> None:
    kinesis.create("faults")
    sent = kinesis.put("faults", [f"v{n}" for n in range(20)])
    kinesis.fault("faults", throttle=2, expire=1)
    queries.append(query := Query(kinesis.options("faults", maxRecordsPerFetch="6"), available_now=True))
    rows = query.batch() or []
    kinesis.fault("faults", expire=1)
    rows += query.to_the_end()
    assert [row["sequenceNumber"] for row in rows] == sent


def test_throttling_without_end_has_a_name(kinesis: KinesisServer, queries: list[Query]) -> None:
    kinesis.create("throttled")
    kinesis.fault("throttled", throttle=100)
    queries.append(query := Query(kinesis.options("throttled", clientRetries="1")))
    with pytest.raises(SourceFailure) as failed:
        query.batch()
    assert failed.value.condition == "KINESIS_REQUEST_FAILED"
    assert "ProvisionedThroughputExceededException" in failed.value.facts["detail"]


def long_ago(entry: Entry) -> Entry:
    """An entry as of a run of last week."""
    for stream in entry["streams"].values():
        for shard in stream["shards"].values():
            shard["since"] -= 7 * 24 * 3_600_000
    return entry


def test_records_that_are_gone_are_a_loss_until_it_is_accepted(kinesis: KinesisServer, queries: list[Query]) -> None:
    kinesis.create("trimmed")
    sent = kinesis.put("trimmed", [f"v{n}" for n in range(10)])
    queries.append(first := Query(kinesis.options("trimmed"), available_now=True))
    first.to_the_end()
    kinesis.put("trimmed", [f"w{n}" for n in range(10)])
    kinesis.fault("trimmed", trim=15)
    queries.append(second := Query(kinesis.options("trimmed"), long_ago(first.at), available_now=True))
    with pytest.raises(SourceFailure) as lost:
        second.batch()
    assert lost.value.condition == "KINESIS_DATA_LOSS"
    assert f"shardId-000000000000 of the stream 'trimmed' behind sequence number {sent[-1]}" in lost.value.facts["lost"]
    queries.append(third := Query(kinesis.options("trimmed", failOnDataLoss="false"), first.at, available_now=True))
    assert values(third.to_the_end()) == [f"w{n}" for n in range(5, 10)]


def test_a_quiet_shard_whose_records_are_all_gone_is_no_loss(kinesis: KinesisServer, queries: list[Query]) -> None:
    kinesis.create("quiet")
    kinesis.put("quiet", ["v"])
    queries.append(first := Query(kinesis.options("quiet"), available_now=True))
    first.to_the_end()
    kinesis.fault("quiet", trim=1)
    kinesis.put("quiet", ["w"])
    queries.append(second := Query(kinesis.options("quiet"), first.at, available_now=True))
    assert values(second.to_the_end()) == ["w"]


def test_an_entry_without_records_keeps_a_quiet_stream_known(kinesis: KinesisServer, queries: list[Query]) -> None:
    kinesis.create("kept")
    kinesis.put("kept", ["v"])
    queries.append(first := Query(kinesis.options("kept"), available_now=True))
    first.to_the_end()
    (shard,) = first.at["streams"]["kept"]["shards"].values()
    shard["since"] -= 2 * 3_600_000
    queries.append(second := Query(kinesis.options("kept"), first.at, available_now=True))
    assert second.batch() == []
    assert second.batch() is None
    (again,) = second.at["streams"]["kept"]["shards"].values()
    assert again["since"] - shard["since"] > 3_600_000
    assert again["last"] == shard["last"]


def test_a_batch_whose_records_are_gone_does_not_run_again(kinesis: KinesisServer, queries: list[Query]) -> None:
    kinesis.create("half")
    kinesis.put("half", [f"v{n}" for n in range(10)])
    queries.append(query := Query(kinesis.options("half")))
    assert query.batch()
    kinesis.fault("half", trim=4)
    query.reader.stop()
    with pytest.raises(SourceFailure) as lost:
        query.rows(query.before, query.at)
    assert lost.value.facts["lost"].startswith("10 of the 10 records from sequence number")
    queries.append(accepted := Query(kinesis.options("half", failOnDataLoss="false")))
    assert values(accepted.rows(query.before, query.at)) == [f"v{n}" for n in range(4, 10)]


def test_a_stream_that_was_made_anew_is_a_loss(kinesis: KinesisServer, queries: list[Query]) -> None:
    kinesis.create("anew")
    kinesis.put("anew", ["v"])
    queries.append(first := Query(kinesis.options("anew"), available_now=True))
    first.to_the_end()
    kinesis.client.delete_stream(StreamName="anew")
    time.sleep(1.1)
    kinesis.create("anew")
    kinesis.put("anew", ["w"])
    with pytest.raises(SourceFailure) as lost:
        Query(kinesis.options("anew"), first.at).batch()
    assert lost.value.condition == "KINESIS_DATA_LOSS"
    queries.append(second := Query(kinesis.options("anew", failOnDataLoss="false"), first.at, available_now=True))
    assert values(second.to_the_end()) == ["w"]


def aggregated(records: list[tuple[str, bytes]]) -> bytes:
    """Records as the Kinesis Producer Library packs them."""

    def field(number: int, content: bytes) -> bytes:
        size, length = len(content), b""
        while size >= 0x80:
            length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
        return bytes([number << 3 | 2]) + length + bytes([size]) + content

    message = b"".join(field(1, key.encode()) for key, _ in records)
    message += b"".join(field(3, bytes([8, at]) + field(3, data)) for at, (_, data) in enumerate(records))
    return b"\xf3\x89\x9a\xc2" + message + hashlib.md5(message).digest()


def test_aggregated_records_are_taken_apart(kinesis: KinesisServer, queries: list[Query]) -> None:
    kinesis.create("aggregated")
    packed = aggregated([("a", b"1"), ("b", b"2" * 300), ("a", b"3")])
    (number,) = kinesis.put("aggregated", [packed])
    kinesis.put("aggregated", [packed[:-1] + b"?"])  # its sum is wrong: it is a record like any other
    queries.append(query := Query(kinesis.options("aggregated"), available_now=True))
    *rows, plain = query.to_the_end()
    assert [(row["partitionKey"], row["data"]) for row in rows] == [("a", b"1"), ("b", b"2" * 300), ("a", b"3")]
    assert {row["sequenceNumber"] for row in rows} == {number}
    assert plain["data"] == packed[:-1] + b"?"


def test_several_streams_and_a_role(kinesis: KinesisServer, queries: list[Query]) -> None:
    for stream in ("north", "south"):
        kinesis.create(stream)
        kinesis.put(stream, [stream])
    role = {
        "roleArn": "arn:aws:iam::123456789012:role/reader",
        "roleExternalId": "abc",
        "roleSessionName": "tests",
        "stsEndpoint": kinesis.endpoint,
    }
    queries.append(query := Query(kinesis.options("north, south", **role), available_now=True))
    assert {(row["stream"], row["data"]) for row in query.to_the_end()} == {("north", b"north"), ("south", b"south")}


def test_a_stream_by_its_arn(kinesis: KinesisServer, queries: list[Query]) -> None:
    kinesis.create("arn")
    kinesis.put("arn", ["v"])
    options = kinesis.options("arn", streamARN=f"arn:aws:kinesis:{REGION}:123456789012:stream/arn")
    options = {name: value for name, value in options.items() if name not in {"streamName", "region"}}
    queries.append(query := Query(options, available_now=True))
    assert [(row["stream"], row["data"]) for row in query.to_the_end()] == [("arn", b"v")]


def test_how_far_it_is_behind(kinesis: KinesisServer, queries: list[Query]) -> None:
    kinesis.create("behind")
    kinesis.put("behind", ["v"])
    time.sleep(0.3)
    kinesis.put("behind", ["w"])
    queries.append(query := Query(kinesis.options("behind", maxRecordsPerFetch="1", fetchBufferSize="1")))
    assert query.reader.reportLatestOffset() is None
    query.batch()
    told = query.reader.reportLatestOffset()
    assert told is not None
    assert 250 <= told["millisBehindLatest"] < 5000
    assert query.run(1)
    assert query.batch() is None
    assert query.reader.reportLatestOffset() == {"millisBehindLatest": 0}


def test_the_rate_of_a_shard_is_kept(kinesis: KinesisServer, queries: list[Query]) -> None:
    kinesis.create("rate")
    kinesis.put("rate", [b"x" * 100_000] * 4)
    options = kinesis.options("rate", maxFetchRate="0.2", maxRecordsPerFetch="1")
    queries.append(query := Query(options, available_now=True))
    started = time.monotonic()
    assert len(query.to_the_end()) == 4
    assert 1.3 < time.monotonic() - started < 10
