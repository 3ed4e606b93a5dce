"""The shards of a stream, and which may be read: a child only when all of its parents has been read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

ALL_KEYS: Final = (0, 2**128 - 1)
"""The hash keys of a whole stream."""


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
