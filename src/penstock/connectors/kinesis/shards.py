"""The shards of a stream, which of them may be read, and how far each was, as Spark's offset log keeps it.

An entry of the log gives for each shard the last record that has been read, and for one that the batch takes records
of, the first of them and their number. So a batch that runs again needs no other entry, and notices what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

ALL_KEYS: Final = (0, 2**128 - 1)
"""The hash keys of a whole stream."""

_VERSION: Final = 1
TRIM_HORIZON: Final = "trim_horizon"


@dataclass(frozen=True, slots=True)
class Shard:
    """One shard as ListShards describes it: the range of hash keys that it takes, and what it was made of."""

    id: str
    hash_keys: tuple[int, int]
    parents: tuple[str, ...]
    closed: bool

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> Shard:
        """Reads one element of the answer."""
        keys, numbers = description["HashKeyRange"], description["SequenceNumberRange"]
        parents = (description.get("ParentShardId"), description.get("AdjacentParentShardId"))
        return cls(
            description["ShardId"],
            (int(keys["StartingHashKey"]), int(keys["EndingHashKey"])),
            tuple(parent for parent in parents if parent),
            numbers.get("EndingSequenceNumber") is not None,
        )


def readable(shards: Iterable[Shard], is_read: Callable[[str], bool]) -> list[Shard]:
    """Returns the shards that may be read now; `is_read` says whether a shard was read to its end, or is gone.

    A key's records move from the parent to a child in a split or merge, so that this keeps their order.
    """
    return [shard for shard in shards if not is_read(shard.id) and all(is_read(parent) for parent in shard.parents)]


@dataclass(frozen=True, slots=True)
class ShardOffset:
    """How far a shard has been read.

    `last` is the sequence number of the newest record that was read; until there is one, `start` says where reading
    begins: `trim_horizon`, or the milliseconds since 1970. What came before `since`, in milliseconds of the service's
    clock, has been read, or was not to be read. `first` and `records` describe the batch's own records, if it has any.
    `ended` says that the shard was closed and all of it has been read.
    """

    since: int
    start: str | int = TRIM_HORIZON
    last: str | None = None
    first: str | None = None
    records: int = 0
    ended: bool = False

    def to_json(self) -> dict[str, Any]:
        """Returns what the offset log holds."""
        found: dict[str, Any] = {"since": self.since}
        found |= {"start": self.start} if self.last is None else {"last": self.last}
        if self.first is not None:
            found |= {"first": self.first, "records": self.records}
        return found | ({"ended": True} if self.ended else {})


@dataclass(frozen=True, slots=True)
class StreamOffset:
    """The shards of one stream by id; `created` sets it apart from a later one of that name, empty when not known."""

    created: str
    shards: Mapping[str, ShardOffset]


@dataclass(frozen=True, slots=True)
class KinesisOffset:
    """One entry of the offset log, by the name of the stream."""

    streams: Mapping[str, StreamOffset] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Returns the entry as Spark writes it."""
        return {
            "version": _VERSION,
            "streams": {
                name: {
                    "created": stream.created,
                    "shards": {shard: offset.to_json() for shard, offset in sorted(stream.shards.items())},
                }
                for name, stream in sorted(self.streams.items())
            },
        }

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> KinesisOffset:
        """Reads an entry.

        Raises:
            ValueError: another version of Penstock has written it.
        """
        if entry.get("version") != _VERSION:
            message = f"the offset of Kinesis has version {entry.get('version')}, and this Penstock reads {_VERSION}"
            raise ValueError(message)
        return cls(
            {
                name: StreamOffset(
                    stream["created"], {shard: ShardOffset(**offset) for shard, offset in stream["shards"].items()}
                )
                for name, stream in entry["streams"].items()
            }
        )
