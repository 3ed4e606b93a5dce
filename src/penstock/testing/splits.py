"""One input cut into batches in many ways, to test that a result does not depend on the cuts."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def batch_splits(rows: Iterable[Item], n: int, seed: int = 0) -> list[list[list[Item]]]:
    """Returns `n` ways to cut `rows` into batches, in their order: all at once, one by one, then random ones.

    The same seed gives the same ways. No batch is empty; no rows give one empty batch.
    """
    return list(_ways(list(rows), n, random.Random(seed)))  # noqa: S311 - test data


def _ways(items: list[Item], n: int, chance: random.Random) -> Iterator[list[list[Item]]]:
    for way in range(n):
        if way == 0 or len(items) < 2:
            yield [items]
        elif way == 1:
            yield [[item] for item in items]
        else:
            cuts = sorted(chance.sample(range(1, len(items)), chance.randrange(1, len(items))))
            yield list(_cut(items, cuts))


def _cut(items: Sequence[Item], cuts: Sequence[int]) -> Iterator[list[Item]]:
    for first, last in zip([0, *cuts], [*cuts, len(items)], strict=True):
        yield list(items[first:last])
