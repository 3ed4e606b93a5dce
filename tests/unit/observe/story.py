"""A log told by a test, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from tests.recorded.build import SteppedClock

from penstock.errors import ExternalError
from penstock.events import (
    BatchProgress,
    Event,
    EventLog,
    EventType,
    ExpectationCount,
    FlowStatus,
    Level,
    Origin,
    UpdateState,
    builders,
)
from penstock.graph.elements import DatasetType
from penstock.storage import Storage


class Story:
    """Collects events; its clock moves one second before each."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.clock = SteppedClock(datetime(2026, 11, 20, 9, tzinfo=UTC))
        self.update_id = ""

    def update(self, update_id: str, *, full_refresh: Sequence[str] | Literal["all"] = ()) -> None:
        self.update_id = update_id
        self.say(
            EventType.CREATE_UPDATE,
            builders.create_update(pipeline="p", cause="USER_ACTION", version="1", full_refresh=full_refresh),
        )

    def state(self, state: UpdateState, **more: Any) -> None:
        self.say(EventType.UPDATE_PROGRESS, builders.update_progress(state, pipeline="p"), **more)

    def dataset(
        self,
        name: str,
        kind: DatasetType = "STREAMING_TABLE",
        *,
        expectations: Sequence[tuple[str, str, str]] = (),
    ) -> None:
        self.say(
            EventType.DATASET_DEFINITION,
            builders.dataset_definition(name, dataset_type=kind, expectations=expectations),
            dataset=name,
        )

    def flow(self, target: str, flow_type: str = "append", *, flow: str | None = None) -> None:
        name = flow or target.partition(".")[2]
        self.say(
            EventType.FLOW_DEFINITION,
            builders.flow_definition(name, output_dataset=target, flow_type=flow_type),
            dataset=target,
            flow=name,
        )

    def status(self, target: str, status: FlowStatus, *, flow: str | None = None, **more: Any) -> None:
        name = flow or target.partition(".")[2]
        self.say(EventType.FLOW_PROGRESS, builders.flow_status(name, status), dataset=target, flow=name, **more)

    def retry(self, target: str, pause: float, **more: Any) -> datetime:
        """The flow cannot reach its broker, and is tried again; returns when."""
        at = self.clock.now() + timedelta(seconds=1 + pause)
        name = target.partition(".")[2]
        error = ExternalError("KAFKA_UNREACHABLE", servers="broker:9092")
        said = builders.flow_retry(name, pause=pause, at=at, reason=error.message)
        self.say(EventType.FLOW_PROGRESS, said, dataset=target, flow=name, error=error, level=Level.WARN, **more)
        return at

    def batch(
        self,
        target: str,
        batch_id: int,
        rows: int,
        *,
        flow: str | None = None,
        failed: int = 0,
        of: str | None = None,
        **numbers: Any,
    ) -> None:
        """One batch; `failed` rows are dropped by the expectation `ok` of `of`, the target itself unless told."""
        name = flow or target.partition(".")[2]
        progress = BatchProgress(
            batch_id=batch_id,
            num_input_rows=rows,
            num_output_rows=rows - failed,
            dropped_records=failed,
            expectations=(ExpectationCount("ok", of or target, rows - failed, failed, "drop"),),
            **numbers,
        )
        self.say(EventType.FLOW_PROGRESS, builders.flow_batch(name, progress), dataset=target, flow=name)

    def say(self, event_type: EventType, built: builders.Built, **more: Any) -> None:
        self.clock.step(1)
        storage = "memory://story"
        with EventLog(
            Storage(storage),
            origin=Origin("p", self.update_id),
            clock=self.clock,
            next_sequence=len(self.events),
            ordinal=1,
        ) as log:
            self.events.append(log.append(event_type, *built, **more))
        Storage(storage).delete("")
