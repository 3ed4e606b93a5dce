"""Data quality over time: which expectations fail, since when, and how often."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from penstock.events import Event, ExpectationCount
from penstock.events.codec import json_ready
from penstock.events.details import mappings, moment, total
from penstock.events.flows.compaction import SummedProjection, totals_of
from penstock.events.flows.facts import FlowFact, flow_key

_MAX_POINTS: Final = 200
_TOTALS: Final = ("dataset", "name", "action", "passed", "failed", "first_failure_at", "last_failure_at")


@dataclass(frozen=True, slots=True)
class QualityPoint:
    """One expectation in one batch."""

    timestamp: datetime
    update_id: str
    batch_id: int
    passed: int
    failed: int


@dataclass(frozen=True, slots=True)
class ExpectationQuality:
    """One expectation of one dataset.

    `passed` and `failed` cover the same batches as the dataset's `rows` in `DatasetStatus`.
    `first_failure_at` and `last_failure_at` are the times of batches with failures among them.
    `points` are the newest 200 batches per flow, oldest first.
    """

    dataset: str
    name: str
    action: str
    passed: int
    failed: int
    first_failure_at: datetime | None
    last_failure_at: datetime | None
    points: tuple[QualityPoint, ...]


@dataclass(slots=True)
class _Track:
    dataset: str
    name: str
    action: str
    passed: int = 0
    failed: int = 0
    first_failure_at: datetime | None = None
    last_failure_at: datetime | None = None
    points: deque[QualityPoint] = field(default_factory=lambda: deque(maxlen=_MAX_POINTS))

    def totals(self) -> dict[str, Any]:
        return {name: json_ready(getattr(self, name)) for name in _TOTALS}

    def take_totals(self, totals: Mapping[str, Any]) -> None:
        self.passed, self.failed = total(totals, "passed"), total(totals, "failed")
        self.first_failure_at = moment(totals, "first_failure_at")
        self.last_failure_at = moment(totals, "last_failure_at")

    def add(self, fact: FlowFact, count: ExpectationCount, batch_id: int) -> None:
        self.action = count.action
        if fact.repeats and self.points and self.points[-1].batch_id == batch_id:
            before = self.points.pop()
            self.passed -= before.passed
            self.failed -= before.failed
        if fact.replaces:
            self.passed = self.failed = 0
        self.passed += count.passed_records
        self.failed += count.failed_records
        if count.failed_records:
            self.first_failure_at = self.first_failure_at or fact.timestamp
            self.last_failure_at = fact.timestamp
        self.points.append(
            QualityPoint(fact.timestamp, fact.update_id, batch_id, count.passed_records, count.failed_records)
        )


class QualityProjection(SummedProjection):
    """The quality of all datasets, kept up to date event by event. Not thread-safe."""

    PART = "quality"

    def __init__(self) -> None:
        super().__init__()
        self._tracks: dict[tuple[str, str], dict[tuple[str, str], _Track]] = {}

    def take(self, event: Event, fact: FlowFact | None) -> None:
        """As `apply`, for an event of which `FlowFacts` made `fact`."""
        for flow, totals in totals_of(event, self.PART):
            for check in mappings(totals, "expectations"):
                dataset, name = str(check.get("dataset")), str(check.get("name"))
                track = _Track(dataset, name, str(check.get("action")))
                tracks = self._tracks.setdefault(flow_key(dataset, name), {})
                tracks.setdefault(flow, track).take_totals(check)
        if fact is None:
            return
        flow = flow_key(fact.dataset, fact.flow)
        if fact.after_full_refresh:
            for tracks in self._tracks.values():
                for other in [other for other in tracks if other[0] == flow[0]]:
                    del tracks[other]
        if fact.progress is None:
            return
        for count in fact.progress.expectations:
            tracks = self._tracks.setdefault(flow_key(count.dataset, count.name), {})
            track = tracks.setdefault(flow, _Track(count.dataset, count.name, count.action))
            track.add(fact, count, fact.progress.batch_id)

    def totals(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Returns of each flow its totals for a `compaction` event."""
        totals: dict[tuple[str, str], dict[str, Any]] = {}
        for tracks in self._tracks.values():
            for flow, track in tracks.items():
                totals.setdefault(flow, {"expectations": []})["expectations"].append(track.totals())
        return totals

    def of(self, dataset: str) -> tuple[ExpectationQuality, ...]:
        """Returns the expectations of `dataset` (`schema.name`) that were checked, in the order of the log."""
        return tuple(
            _merged(list(tracks.values()))
            for (owner, _), tracks in self._tracks.items()
            if owner == dataset.casefold() and tracks
        )


def _merged(tracks: list[_Track]) -> ExpectationQuality:
    """One expectation of a table that several flows fill, or of a view that several flows read."""
    points = sorted((point for track in tracks for point in track.points), key=lambda point: point.timestamp)
    return ExpectationQuality(
        dataset=tracks[0].dataset,
        name=tracks[0].name,
        action=tracks[-1].action,
        passed=sum(track.passed for track in tracks),
        failed=sum(track.failed for track in tracks),
        first_failure_at=min((t.first_failure_at for t in tracks if t.first_failure_at), default=None),
        last_failure_at=max((t.last_failure_at for t in tracks if t.last_failure_at), default=None),
        points=tuple(points),
    )
