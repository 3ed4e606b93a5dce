"""Lag: how much the sources of a dataset still hold that its flows have not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.events import BatchProgress
from penstock.observe.numbers import byte_size, duration_ms


@dataclass(frozen=True, slots=True)
class Lag:
    """What waits at the sources, as each of them counts: rows (Kafka), files and bytes (files, Delta), time (Kinesis).

    It is the backlog right after the newest batch was planned. None means that no source reports it; 0 means that
    nothing waits. `milliseconds` lie between the newest record that was read and the newest that is there; `partitions`
    has the rows of each partition by topic. How long the rest takes is another thing:
    `observe.throughput.drain_seconds` estimates that, and the age of the newest batch is `DatasetStatus.last_batch_at`.
    """

    rows: int | None = None
    files: int | None = None
    bytes: int | None = None
    milliseconds: int | None = None
    partitions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, batches: Iterable[BatchProgress]) -> Lag | None:
        """Returns the sum over the newest batch of each flow, or None when none of them reports it."""
        known = list(batches)
        lag = cls(
            rows=sum_known(batch.backlog_records for batch in known),
            files=sum_known(batch.backlog_files for batch in known),
            bytes=sum_known(batch.backlog_bytes for batch in known),
            milliseconds=max((each.backlog_ms for each in known if each.backlog_ms is not None), default=None),
            partitions=_by_partition(batch.backlog_partitions for batch in known),
        )
        return None if lag == cls() else lag

    def to_json(self) -> dict[str, Any]:
        """Returns `{rows, files, bytes, milliseconds}`; where known, `partitions` as `{topic: {partition: rows}}`."""
        amounts: dict[str, Any] = {"rows": self.rows, "files": self.files, "bytes": self.bytes}
        amounts["milliseconds"] = self.milliseconds
        return {**amounts, "partitions": self.partitions} if self.partitions else amounts

    def __str__(self) -> str:
        """The most significant unit, for people: `1,204 rows`, `3 files (1.2 MB)`, `2.4 s`, `none`."""
        if self.rows:
            return f"{self.rows:,} {'row' if self.rows == 1 else 'rows'}"
        if self.files:
            size = f" ({byte_size(self.bytes)})" if self.bytes else ""
            return f"{self.files:,} {'file' if self.files == 1 else 'files'}{size}"
        if self.bytes:
            return byte_size(self.bytes)
        return duration_ms(self.milliseconds) if self.milliseconds else "none"


def _by_partition(flows: Iterable[Mapping[str, Mapping[str, int]]]) -> dict[str, dict[str, int]]:
    summed: dict[str, Counter[str]] = {}
    for topics in flows:
        for topic, partitions in topics.items():
            summed.setdefault(topic, Counter()).update(partitions)
    return {topic: dict(partitions) for topic, partitions in summed.items()}


def sum_known(values: Iterable[int | None]) -> int | None:
    """Returns the sum of the numbers that are known, None when none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
