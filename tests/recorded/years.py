"""Logs of many updates, one a day, in which everything happens that a log can tell; a seed decides what."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

from tests.recorded.build import SteppedClock

from penstock.errors import ExternalError, StateError
from penstock.events import (
    BatchAccounts,
    BatchProgress,
    CheckpointedBatch,
    EventLog,
    EventType,
    ExpectationCount,
    FlowStatus,
    Lateness,
    LateRows,
    Level,
    MaintenanceProgress,
    UpdateState,
    WatermarkState,
    WatermarkStatus,
    builders,
)
from penstock.events.alerts import Alert, DeliveryState, alert, alert_delivery
from penstock.events.flows.records import RESET, REWIND

BEGINNING: Final = datetime(2026, 1, 1, tzinfo=UTC)
TABLES: Final = {"s.raw": "append", "s.clean": "append", "s.daily": "materialized_view", "s.top": "complete"}
_ERROR: Final = ExternalError("KAFKA_UNREACHABLE", servers="broker:9092")


class Recorder:
    """Writes updates to a storage; the same seed gives the same log."""

    def __init__(self, storage: str, seed: int, *, batches: int = 15, day: int = 0) -> None:
        self._storage = storage
        self._random = Random(seed)
        self._most = batches
        self._day = day
        self._batch = dict.fromkeys(TABLES, -1)
        self._firing: Alert | None = None
        self._log: EventLog
        self._clock = SteppedClock(BEGINNING)

    def record(self, updates: int) -> None:
        """Writes so many updates, and what is done between them."""
        for _ in range(updates):
            self._day += 1
            self._clock.moment = BEGINNING + timedelta(days=self._day)
            with self._open(f"update-{self._day}"):
                self._update()
            if self._chance(0.3):
                with self._open(f"between-{self._day}"):
                    self._between()

    def define(self) -> None:
        """Writes one more update, which does nothing but to define everything."""
        self._day += 1
        self._clock.moment = BEGINNING + timedelta(days=self._day)
        with self._open(f"update-{self._day}"):
            self._begin(())
            self._state(UpdateState.COMPLETED)

    def _open(self, update_id: str) -> EventLog:
        self._log = EventLog.open(
            self._storage, pipeline_name="shop", update_id=update_id, clock=self._clock, host="etl-1"
        )
        return self._log

    def _say(self, event_type: EventType, built: builders.Built, **more: Any) -> None:
        self._clock.step(self._random.random() * 60)
        self._log.append(event_type, *built, **more)

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _state(self, state: UpdateState, **more: Any) -> None:
        self._say(EventType.UPDATE_PROGRESS, builders.update_progress(state, pipeline="shop"), **more)

    def _begin(self, refreshed: Any) -> None:
        told = builders.create_update(pipeline="shop", cause="USER_ACTION", version="1", full_refresh=refreshed)
        self._say(EventType.CREATE_UPDATE, told)
        self._say(EventType.USER_ACTION, builders.user_action("START"))
        self._state(UpdateState.WAITING_FOR_RESOURCES)
        constraint = f"a > {self._day // 4}"
        for name, kind in TABLES.items():
            is_view = kind == "materialized_view"
            defined = builders.dataset_definition(
                name,
                dataset_type="MATERIALIZED_VIEW" if is_view else "STREAMING_TABLE",
                expectations=[("ok", constraint, "drop")],
            )
            self._say(EventType.DATASET_DEFINITION, defined, dataset=name)
            flow = builders.flow_definition(name.partition(".")[2], output_dataset=name, flow_type=kind)
            self._say(EventType.FLOW_DEFINITION, flow, dataset=name, flow=name.partition(".")[2])
        self._say(EventType.PLANNING_INFORMATION, builders.planning_information([("RUN", None, None, "all")]))
        self._state(UpdateState.RUNNING)

    def _update(self) -> None:
        refreshed: Any = "all" if self._chance(0.05) else [each for each in TABLES if self._chance(0.1)]
        if self._chance(0.1):
            told = builders.create_update(pipeline="shop", cause="USER_ACTION", version="1", full_refresh=refreshed)
            self._say(EventType.CREATE_UPDATE, told)
            self._state(UpdateState.FAILED, error=StateError("STORAGE_LOCK_LOST", storage="x"))
            return
        self._begin(refreshed)
        for name in TABLES:
            if self._chance(0.8):
                self._flow(name, anew=refreshed == "all" or name in refreshed)
        if self._chance(0.9):
            self._state(UpdateState.COMPLETED if self._chance(0.8) else UpdateState.FAILED)

    def _flow(self, name: str, *, anew: bool) -> None:
        flow = name.partition(".")[2]
        about = {"dataset": name, "flow": flow}
        if anew or TABLES[name] == "materialized_view":
            self._batch[name] = -1
        reason = "no window" if self._chance(0.2) else None
        self._say(EventType.FLOW_PROGRESS, builders.flow_status(flow, FlowStatus.STARTING), **about)
        running = builders.flow_status(flow, FlowStatus.RUNNING, lateness_not_measured=reason)
        self._say(EventType.FLOW_PROGRESS, running, **about)
        for number in range(self._random.randrange(self._most)):
            if not (number == 0 and self._batch[name] >= 0 and self._chance(0.3)):
                self._batch[name] += 1
            self._one_batch(name, flow, first=number == 0)
        if self._chance(0.2):
            failed = builders.flow_status(flow, FlowStatus.FAILED, reason="it broke")
            for _ in range(self._random.randrange(1, 3)):
                self._say(EventType.FLOW_PROGRESS, failed, error=_ERROR, **about)
        elif self._chance(0.8):
            self._say(EventType.FLOW_PROGRESS, builders.flow_status(flow, FlowStatus.COMPLETED), **about)

    def _one_batch(self, name: str, flow: str, *, first: bool) -> None:
        number, rows, bad = self._batch[name], self._random.randrange(100), self._random.randrange(3)
        if self._chance(0.3):
            rows = bad = 0
        streams = TABLES[name] != "materialized_view"
        progress = BatchProgress(
            batch_id=number,
            num_input_rows=rows + bad,
            num_output_rows=rows,
            dropped_records=bad,
            late_rows=self._random.randrange(3),
            batch_duration_ms=100,
            watermark=self._clock.now().isoformat(),
            state_rows=self._random.randrange(1000),
            state_bytes=1000,
            expectations=(ExpectationCount("ok", name, rows, bad, "drop"),),
            lateness=Lateness(rows, 1000 * (1 + self._day // 6), late={0: 1, 2000: bad}) if streams else None,
        )
        settings = {"spark.sql.shuffle.partitions": str(self._day)} if first else {}
        told = CheckpointedBatch(f"query-{flow}", {"source": {"offset": number}}, settings) if streams else None
        about = {"dataset": name, "flow": flow, "batch_id": number}
        self._say(EventType.FLOW_PROGRESS, builders.flow_batch(flow, progress, checkpointed=told), **about)
        wrong = 1 if self._chance(0.05) else 0
        accounts = BatchAccounts(
            number, rows + bad, rows + bad, rows - wrong, bad, target_unchecked="why" if self._chance(0.1) else None
        )
        error = _ERROR if accounts.verdict.value == "BROKEN" else None
        self._say(EventType.ACCOUNTING, builders.accounting(flow, accounts), error=error, **about)
        if self._chance(0.2):
            late = LateRows(f"query-{flow}", number, 1, self._random.choice([None, 1, 4]), f"{name}__late_rows")
            self._say(EventType.LATE_ROWS, builders.late_rows(flow, late), level=Level.WARN, **about)
        if self._chance(0.1):
            state = self._random.choice([WatermarkState.MOVING, WatermarkState.STALLED])
            stand = WatermarkStatus(state, self._clock.now().isoformat(), None, 10)
            error = None if state is WatermarkState.MOVING else _ERROR
            self._say(EventType.WATERMARK, builders.watermark(flow, stand), error=error, level=Level.WARN, **about)

    def _between(self) -> None:
        name = self._random.choice(list(TABLES))
        flow = name.partition(".")[2]
        match self._random.randrange(5):
            case 0:
                self._say(EventType.USER_ACTION, builders.user_action("DROP"), dataset=name)
            case 1:
                self._say(EventType.USER_ACTION, builders.user_action(RESET), dataset=name, flow=flow)
                self._batch[name] = -1
            case 2 if self._batch[name] > 1:
                back = self._batch[name] - 1
                told = builders.user_action(REWIND, arguments={"to_batch": back})
                self._say(EventType.USER_ACTION, told, dataset=name, flow=flow)
                self._batch[name] = back
            case 3:
                self._say(EventType.MAINTENANCE_PROGRESS, builders.maintenance(name, MaintenanceProgress()))
            case _ if self._firing is None:
                now = self._clock.now()
                self._firing = Alert("freshness", name, None, _ERROR.to_json(), now, now)
                self._say(EventType.ALERT, alert(self._firing))
                delivered = alert_delivery("hook", DeliveryState.DELIVERED, [self._firing])
                self._say(EventType.ALERT_DELIVERY, delivered)
            case _:
                before, now = self._firing, self._clock.now()
                over = Alert("freshness", before.dataset, None, before.error, before.since, before.fired, now)
                self._say(EventType.ALERT, alert(over))
                self._firing = None
