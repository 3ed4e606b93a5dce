"""The samples of a dev session: Spark holds each while a result is of it, so that all edits see the same rows."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from pyspark.sql import DataFrame


@dataclass(slots=True)
class Samples:
    """The first `rows` of what queries read; equal reads have the same sample, and the same key."""

    rows: int
    _held: dict[int, DataFrame] = field(default_factory=dict)

    def take(self, frame: DataFrame, taken: set[int]) -> DataFrame:
        """Returns the sample of a read, and adds its key to `taken`."""
        sample = frame.limit(self.rows).persist()
        key = sample.semanticHash()
        taken.add(key)
        self._held.setdefault(key, sample)
        return sample

    def release(self, *, but: Set[int] = frozenset()) -> None:
        """Has Spark forget all samples but those with these keys."""
        for key in self._held.keys() - but:
            self._held.pop(key).unpersist()
