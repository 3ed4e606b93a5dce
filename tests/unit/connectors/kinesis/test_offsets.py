"""Entries of the offset log, shards that may be read, and failures on their way."""

from __future__ import annotations

import pickle

import pytest

from penstock.connectors.kinesis.shards import KinesisOffset, Shard, ShardOffset, StreamOffset, readable
from penstock.errors import ExternalError, StateError
from penstock.spark.failures.python_sources import DATA_LOSS, SourceFailure, parse_failure


def test_an_entry_is_read_as_it_was_written() -> None:
    shards = {
        "shardId-0": ShardOffset(5, last="12", first="10", records=3),
        "shardId-1": ShardOffset(6, start=1767312000000),
        "shardId-2": ShardOffset(7, last="9", ended=True),
    }
    offset = KinesisOffset({"orders": StreamOffset("2026-01-01T00:00:00Z", shards)})
    assert KinesisOffset.from_json(offset.to_json()) == offset


def test_an_entry_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="version 2"):
        KinesisOffset.from_json({"version": 2, "streams": {}})


def test_children_wait_for_all_of_their_parents() -> None:
    def shard(name: str, *parents: str) -> Shard:
        return Shard(name, (0, 1), parents, closed=False)

    shards = [shard("a"), shard("b"), shard("ab", "a", "b"), shard("a1", "a"), shard("later", "ab")]
    assert [each.id for each in readable(shards, set[str]().__contains__)] == ["a", "b"]
    assert [each.id for each in readable(shards, {"a"}.__contains__)] == ["b", "a1"]
    assert [each.id for each in readable(shards, {"a", "b"}.__contains__)] == ["ab", "a1"]


def test_failures_survive_as_text() -> None:
    failure = SourceFailure("KINESIS_STREAM_NOT_FOUND", stream="s", where="there")
    again = pickle.loads(pickle.dumps(failure))
    assert (again.condition, again.facts) == (failure.condition, failure.facts)
    text = f'Traceback:\n  raise SourceFailure("X")\nSourceFailure: {failure}\n\tat org.apache.spark.X\n'
    told = parse_failure(["nothing", text])
    assert told is not None
    assert isinstance(told.error("d"), ExternalError)
    assert (told.condition, told.facts) == (failure.condition, failure.facts)
    assert isinstance(SourceFailure(DATA_LOSS, lost="all").error("d", "f"), StateError)
    assert parse_failure(["nothing"]) is None
