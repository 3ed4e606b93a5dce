"""Warns, once, when a flow's watermark stands still or is in the future, and of rows without an event time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from penstock.errors import DataError
from penstock.events import BatchProgress, CheckpointedBatch, Event, WatermarkState, WatermarkStatus, WatermarkWatch
from penstock.graph.resolved import ResolvedFlow
from penstock.runtime.flows.services import FlowServices


@dataclass(slots=True)
class StalledWatermark:
    """The watermark of one flow, from the first start of its query in this process on."""

    _flow: ResolvedFlow
    _services: FlowServices
    _watch: WatermarkWatch | None = None
    _warned_of_missing_time: bool = False

    def start(self, newest_events: Callable[[], Sequence[Event]]) -> None:
        """Looks at the batches of earlier runs, as far as the tail of the event log goes; before the first batch."""
        if self._watch is None and self._services.drops_late_rows(self._flow):
            flow = (str(self._flow.declaration.target), self._flow.declaration.name)
            self._watch = WatermarkWatch.over(newest_events(), flow)

    def notice(self, progress: BatchProgress, checkpointed: CheckpointedBatch | None) -> None:
        """Takes a committed batch into account."""
        self._look_for_rows_without_time(progress)
        if self._watch is None or checkpointed is None:
            return
        stand = self._watch.apply(progress, checkpointed, datetime.now(UTC))
        if stand is not None:
            self._services.reporter.watermark(self._flow, stand, error=self._error(stand))

    def _look_for_rows_without_time(self, progress: BatchProgress) -> None:
        lateness = progress.lateness
        if lateness is None or not lateness.without_time or self._warned_of_missing_time:
            return
        self._warned_of_missing_time = True
        flow, watermark = self._flow.declaration, self._flow.watermark
        self._services.reporter.warning(
            DataError(
                "EVENT_TIME_MISSING",
                location=flow.location,
                dataset=str(flow.target),
                flow=flow.name,
                batch=progress.batch_id,
                count=f"{lateness.without_time:,}",
                rows=f"{lateness.rows + lateness.without_time:,}",
                column="…" if watermark is None else watermark[0],
            )
        )

    def _error(self, stand: WatermarkStatus) -> DataError | None:
        flow = self._flow.declaration
        facts: dict[str, object] = {
            "flow": flow.name,
            "watermark": stand.watermark,
            "newest": stand.event_time_max,
            "name": flow.target,
        }
        match stand.state:
            case WatermarkState.MOVING:
                return None
            case WatermarkState.AHEAD:
                condition = "WATERMARK_AHEAD"
            case WatermarkState.STALLED:
                condition = "WATERMARK_STALLED"
                facts["batches"] = stand.batches
            case WatermarkState.HELD_BACK:
                condition = "WATERMARK_HELD_BACK"
                facts["cause"] = _cause(stand)
        return DataError(condition, location=flow.location, dataset=str(flow.target), **facts)


def _cause(stand: WatermarkStatus) -> str:
    if not stand.idle_sources:
        return "another of its sources delivers nothing newer"
    names = ", ".join(f"'{name}'" for name in stand.idle_sources)
    source = "source" if len(stand.idle_sources) == 1 else "sources"
    return f"the {source} {names} delivered nothing in the last {stand.batches} batches"
