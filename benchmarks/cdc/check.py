"""What the tables must hold after the batches, computed in plain Python from the events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pyarrow import parquet
from pyspark.sql import SparkSession

from benchmarks.differences import Rows, differences

_CURRENT = ("id", "name", "city", "amount")
_VERSIONS = (*_CURRENT, "__START_AT", "__END_AT")


class _Event(NamedTuple):
    id: int
    at: int
    op: str
    name: str
    city: str
    amount: float

    @property
    def row(self) -> tuple[int, str, str, float]:
        return self.id, self.name, self.city, self.amount


@dataclass(slots=True)
class _Truth:
    """The newest state of each key that is not deleted, and the versions that an event has closed."""

    open: dict[int, _Event] = field(default_factory=dict)
    closed: Rows = field(default_factory=Counter)

    def apply(self, event: _Event) -> None:
        """Takes the next event in the order of the sequence."""
        before = self.open.pop(event.id, None)
        if before is not None:
            self.closed[*before.row, before.at, event.at] += 1
        if event.op != "D":
            self.open[event.id] = event

    @property
    def current(self) -> Rows:
        return Counter(event.row for event in self.open.values())

    @property
    def versions(self) -> Rows:
        return self.closed + Counter((*event.row, event.at, None) for event in self.open.values())


def problems(spark: SparkSession, tables: Mapping[str, str], batches: Iterable[str], by_hand: str) -> list[str]:
    """Returns what is wrong with the tables, by their ways, after these folders of events; none when all is right."""
    truth = _truth(batches)
    scd1, hand = (_rows(spark, tables[way], _CURRENT) for way in ("scd1", by_hand))
    return [
        *differences("scd1", scd1, truth.current),
        *differences(by_hand, hand, truth.current),
        *differences(f"scd1, compared with {by_hand}", scd1, hand),
        *differences("scd2", _rows(spark, tables["scd2"], _VERSIONS), truth.versions),
    ]


def _truth(batches: Iterable[str]) -> _Truth:
    truth = _Truth()
    for folder in batches:
        columns = parquet.read_table(folder, columns=list(_Event._fields)).columns
        events = map(_Event, *(column.to_pylist() for column in columns))
        for event in sorted(events, key=lambda event: event.at):
            truth.apply(event)
    return truth


def _rows(spark: SparkSession, path: str, columns: Iterable[str]) -> Rows:
    return Counter(map(tuple, spark.read.format("delta").load(path).select(*columns).collect()))
