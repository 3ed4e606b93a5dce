"""How far streams have been read, as Spark's offset log keeps it: a batch is read again from its own entry alone.

An entry of the log gives for each shard the last record that has been read, and for one that the batch takes records
of, the first of them and their number. So a batch that runs again needs no other entry, and notices what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

_VERSION: Final = 1
TRIM_HORIZON: Final = "trim_horizon"


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
