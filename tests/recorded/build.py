"""Makes the recorded event log beside this file: `python -m tests.recorded.build` writes `tests/recorded/orders`.

The log tells of an orders pipeline with five datasets and two updates, written through the public
EventLog API with a fixed clock, so that it is the same each time:

    09:00  update 1  silver_orders restarts for a new column, hourly_revenue fails over an expectation,
                     revenue_report is skipped; the update fails
    10:30  update 2  after the correction all complete; bronze_orders ends with files that it has not read

`recorded_orders(storage)` makes it in a test's own folder; `finished=False` leaves update 2 unfinished.
"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from tests.recorded.declared import BRONZE, HOURLY, ORDER_COLUMNS, REPORT, SILVER, SILVER_CHECKS

from penstock.errors import DataError, SourceLocation, StateError
from penstock.events import (
    BatchProgress,
    CheckpointedBatch,
    Event,
    EventLog,
    EventType,
    ExpectationCount,
    FlowStatus,
    Lateness,
    Level,
    OperatorState,
    UpdateState,
)
from penstock.events import builders as say
from penstock.events.log.audit import Actor
from penstock.graph.elements import DatasetType
from penstock.graph.schema.column_lineage import ColumnLineage

RECORDED = Path(__file__).parent / "orders"
FIRST_UPDATE = "0f6d3c1e-5d0a-4b7e-9a51-3f2f0c6f1a01"
SECOND_UPDATE = "7b8e4a52-91c3-4f0d-8c64-d2a5be10ce02"
START = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)

_STORED = ("bronze_orders", "silver_orders", "hourly_revenue", "revenue_report")


class SteppedClock:
    """A clock that moves only when told to."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment

    def step(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


class _Update:
    def __init__(self, storage: str, update_id: str, started: datetime, seed: int) -> None:
        self.clock = SteppedClock(started)
        self.log = EventLog.open(
            storage, pipeline_name="orders", update_id=update_id, clock=self.clock, host="laptop.example"
        )
        self.random = Random(seed)

    def state(self, state: UpdateState, reason: str | None = None, *, after: float = 0.2) -> Event:
        self.clock.step(after)
        level = Level.ERROR if state is UpdateState.FAILED else None
        return self.log.append(
            EventType.UPDATE_PROGRESS, *say.update_progress(state, pipeline="orders", reason=reason), level=level
        )

    def begin(self) -> None:
        self.log.append(EventType.USER_ACTION, *say.user_action("START", by=Actor("ada", "command line")))
        self.log.append(
            EventType.CREATE_UPDATE, *say.create_update(pipeline="orders", cause="USER_ACTION", version="0.1.0")
        )
        self.state(UpdateState.WAITING_FOR_RESOURCES)
        self.state(UpdateState.INITIALIZING, after=3.1)
        self._define()
        self.state(UpdateState.SETTING_UP_TABLES, after=0.4)
        self.state(UpdateState.RUNNING, after=1.2)
        for flow in _STORED:
            self.status(flow, FlowStatus.QUEUED, after=0)

    def status(
        self,
        flow: str,
        status: FlowStatus,
        reason: str | None = None,
        *,
        after: float = 0.1,
        level: Level | None = None,
        error: DataError | StateError | None = None,
    ) -> None:
        self.clock.step(after)
        self.log.append(
            EventType.FLOW_PROGRESS,
            *say.flow_status(flow, status, reason=reason),
            level=level,
            dataset=f"shop.{flow}",
            flow=flow,
            error=error,
        )

    def batch(
        self, flow: str, progress: BatchProgress, *, after: float = 0.3, checkpointed: CheckpointedBatch | None = None
    ) -> None:
        self.clock.step(after)
        self.log.append(
            EventType.FLOW_PROGRESS,
            *say.flow_batch(flow, progress, checkpointed=checkpointed),
            dataset=f"shop.{flow}",
            flow=flow,
            batch_id=progress.batch_id,
        )

    def bronze(self, batch_id: int, *, backlog_files: int) -> int:
        rows = self.random.randint(1900, 2100)
        duration = self.random.randint(700, 1300)
        self.batch(
            "bronze_orders",
            BatchProgress(
                batch_id=batch_id,
                num_input_rows=rows,
                num_output_rows=rows,
                input_rows_per_second=round(rows / 1.25, 1),
                processed_rows_per_second=round(rows * 1000 / duration, 1),
                batch_duration_ms=duration,
                phases_ms=_phases(duration),
                backlog_files=backlog_files,
                backlog_bytes=backlog_files * 412_000,
            ),
        )
        return rows

    def silver(self, batch_id: int, rows: int) -> int:
        duration = self.random.randint(800, 1700)
        nulls, negative, ancient = self.random.randint(2, 9), self.random.randint(10, 25), batch_id % 3
        dropped, aside = negative + ancient, quarantined_rows(batch_id)
        counts = zip(SILVER_CHECKS, (nulls, negative, ancient, aside), strict=True)
        self.batch(
            "silver_orders",
            BatchProgress(
                batch_id=batch_id,
                num_input_rows=rows,
                num_output_rows=rows - dropped - aside,
                dropped_records=dropped,
                quarantined_records=aside,
                input_rows_per_second=round(rows / 1.25, 1),
                processed_rows_per_second=round(rows * 1000 / duration, 1),
                batch_duration_ms=duration,
                phases_ms=_phases(duration),
                backlog_bytes=0,
                expectations=tuple(
                    ExpectationCount(name, "shop.silver_orders", rows - failed, failed, action)
                    for (name, _, action), failed in counts
                ),
            ),
        )
        return rows - dropped - aside

    def hourly(self, batch_id: int, rows: int, *, hours: int, watermark: datetime) -> None:
        duration = self.random.randint(900, 2400)
        kept = 24 + batch_id
        self.batch(
            "hourly_revenue",
            BatchProgress(
                batch_id=batch_id,
                num_input_rows=rows,
                num_output_rows=hours,
                input_rows_per_second=round(rows / 1.25, 1),
                processed_rows_per_second=round(rows * 1000 / duration, 1),
                batch_duration_ms=duration,
                phases_ms=_phases(duration),
                watermark=watermark.isoformat().replace("+00:00", ".000Z"),
                state_rows=kept,
                state_bytes=kept * 620,
                state_operators=(
                    OperatorState("stateStoreSave", kept, kept * 620, updated_rows=3, removed_rows=hours, growth=1),
                ),
                late_rows=late_rows(batch_id),
                expectations=(ExpectationCount("revenue is positive", "shop.hourly_revenue", hours, 0, "fail"),),
                lateness=_lateness(batch_id, rows),
            ),
            checkpointed=CheckpointedBatch(
                "6c1d0a52-7f3b-4f6e-8b36-0a5de2c9f103", {"shop.silver_orders": {"reservoirVersion": batch_id + 1}}
            ),
        )

    def report(self, rows: int, written: int) -> None:
        self.batch(
            "revenue_report",
            BatchProgress(
                batch_id=0,
                num_input_rows=rows,
                num_output_rows=written,
                processed_rows_per_second=round(rows / 1.9, 1),
                batch_duration_ms=1900,
                phases_ms={"addBatch": 1900},
            ),
            after=1.9,
        )

    def _define(self) -> None:
        source = ("cloudFiles", "./data/orders", "orders")
        self._dataset("bronze_orders", "STREAMING_TABLE", 10, "Orders as they arrived", ())
        self._dataset("paid_orders", "VIEW", 22, None, ("shop.bronze_orders",))
        self._dataset(
            "silver_orders", "STREAMING_TABLE", 30, "Orders that can be trusted", ("shop.paid_orders",), SILVER_CHECKS
        )
        self._dataset(
            "hourly_revenue",
            "STREAMING_TABLE",
            44,
            "Revenue by hour",
            ("shop.silver_orders",),
            (("revenue is positive", "revenue > 0", "fail"),),
        )
        self._dataset("revenue_report", "MATERIALIZED_VIEW", 60, None, ("shop.hourly_revenue",))
        self._flow("bronze_orders", "append", (), 10, sources=(source,), lineage=BRONZE)
        self._flow("silver_orders", "append", ("shop.paid_orders",), 30, lineage=SILVER)
        self._flow("hourly_revenue", "append", ("shop.silver_orders",), 44, stateful=("aggregate",), lineage=HOURLY)
        self._flow("revenue_report", "materialized_view", ("shop.hourly_revenue",), 60, lineage=REPORT)
        self.log.append(
            EventType.PLANNING_INFORMATION,
            *say.planning_information(
                [("run flow", f"shop.{flow}", flow, "reads what is new since its checkpoint") for flow in _STORED[:3]]
                + [("refresh", "shop.revenue_report", "revenue_report", "is computed anew and replaced in one commit")]
            ),
        )

    def _dataset(
        self,
        name: str,
        kind: DatasetType,
        line: int,
        comment: str | None,
        inputs: tuple[str, ...],
        expectations: tuple[tuple[str, str, str], ...] = (),
    ) -> None:
        self.clock.step(0.01)
        self.log.append(
            EventType.DATASET_DEFINITION,
            *say.dataset_definition(
                f"shop.{name}",
                dataset_type=kind,
                schema=ORDER_COLUMNS,
                comment=comment,
                path=None if kind == "VIEW" else f"./.penstock/tables/shop/{name}",
                inputs=inputs,
                expectations=expectations,
                location=f"transformations/orders.py:{line}",
            ),
            dataset=f"shop.{name}",
        )

    def _flow(
        self,
        name: str,
        flow_type: str,
        inputs: tuple[str, ...],
        line: int,
        *,
        sources: tuple[tuple[str, str, str | None], ...] = (),
        stateful: tuple[str, ...] = (),
        lineage: ColumnLineage,
    ) -> None:
        self.log.append(
            EventType.FLOW_DEFINITION,
            *say.flow_definition(
                name,
                output_dataset=f"shop.{name}",
                flow_type=flow_type,
                input_datasets=inputs,
                schema=ORDER_COLUMNS,
                explain_text=f"Project [order_id, customer_id, amount, order_time]\n+- Relation {name}",
                sources=sources,
                stateful=stateful,
                watermark=("order_time", "10 minutes") if stateful else None,
                location=f"transformations/orders.py:{line}",
                lineage=lineage,
            ),
            dataset=f"shop.{name}",
            flow=name,
        )


def quarantined_rows(batch_id: int) -> int:
    """How many rows of a batch `silver_orders` puts aside."""
    return batch_id % 5


def late_rows(batch_id: int) -> int:
    """How many rows of a batch come too late for `hourly_revenue`."""
    return batch_id % 4


def _lateness(batch_id: int, rows: int) -> Lateness:
    """Most rows are in time, others seconds or minutes late, and those of `late_rows` by the delay of 10 minutes."""
    usual = {0: 61, 1_000: 44, 5_000: 83, 20_000: 57, 45_000: 30, 120_000: 21, 300_000: 12}
    late = {at: count + (batch_id * (place + 3)) % 7 for place, (at, count) in enumerate(usual.items())}
    behind = late_rows(batch_id)
    late |= {at: count for at, count in ((600_000, behind - behind // 2), (2_700_000, behind // 2)) if count}
    return Lateness(rows, delay_ms=600_000, window_ms=3_600_000, late=late)


def _phases(duration: int) -> dict[str, int]:
    commit = duration * 3 // 10
    return {
        "latestOffset": 40,
        "queryPlanning": 60,
        "walCommit": 25,
        "commitOffsets": 25,
        "addBatch": duration - commit,
    }


def first_update(storage: str) -> None:
    """Writes the update that fails."""
    update = _Update(storage, FIRST_UPDATE, START, seed=1)
    update.begin()
    for flow in _STORED[:3]:
        update.status(flow, FlowStatus.STARTING)
        update.status(flow, FlowStatus.RUNNING, after=0.4)
    for batch_id in range(4):
        rows = update.bronze(batch_id, backlog_files=2 * (3 - batch_id))
        if batch_id == 2:
            reason = "the files have the new column 'coupon'; it is added to the table"
            update.status("silver_orders", FlowStatus.STARTING, reason, level=Level.WARN)
            update.status("silver_orders", FlowStatus.RUNNING, after=1.0)
        rows = update.silver(batch_id, rows)
        if batch_id < 2:
            update.hourly(batch_id, rows, hours=batch_id, watermark=START + timedelta(minutes=30 * batch_id))
        if batch_id == 2:
            error = DataError(
                "EXPECTATION_FAILED",
                location=SourceLocation("transformations/orders.py", 43),
                dataset="shop.hourly_revenue",
                name="shop.hourly_revenue",
                expectations="'revenue is positive'",
                row='{"hour":"2026-03-01T08:00:00Z","revenue":-12.5}',
                origin="",
            )
            update.status("hourly_revenue", FlowStatus.FAILED, error.message, error=error, after=0.9)
            update.status("revenue_report", FlowStatus.SKIPPED, "it reads hourly_revenue, which failed")
    update.status("bronze_orders", FlowStatus.COMPLETED)
    update.status("silver_orders", FlowStatus.COMPLETED)
    update.state(UpdateState.FAILED, "1 of 4 flows failed: hourly_revenue")
    update.log.close()


def second_update(storage: str, *, finished: bool = True) -> None:
    """Writes the update after the correction; without `finished` it stops in the middle, as a crash does."""
    update = _Update(storage, SECOND_UPDATE, START + timedelta(minutes=90), seed=2)
    update.begin()
    for flow in _STORED[:3]:
        update.status(flow, FlowStatus.STARTING)
        update.status(flow, FlowStatus.RUNNING, after=0.4)
    total = 0
    for batch_id in range(4, 12):
        rows = update.bronze(batch_id, backlog_files=max(0, 14 - batch_id))
        rows = update.silver(batch_id, rows)
        update.hourly(batch_id - 2, rows, hours=1, watermark=START + timedelta(minutes=7 * batch_id))
        total += 1
        if not finished and batch_id == 7:
            update.log.close()
            return
    for flow in _STORED[:3]:
        update.status(flow, FlowStatus.COMPLETED)
    update.status("revenue_report", FlowStatus.STARTING)
    update.status("revenue_report", FlowStatus.RUNNING)
    update.report(total + 1, 5)
    update.status("revenue_report", FlowStatus.COMPLETED)
    update.state(UpdateState.COMPLETED)
    update.log.close()


def recorded_orders(storage: str, *, finished: bool = True) -> None:
    """Writes the whole recorded log into an empty storage."""
    first_update(storage)
    second_update(storage, finished=finished)


def main() -> None:
    shutil.rmtree(RECORDED, ignore_errors=True)
    recorded_orders(str(RECORDED))
    print(f"wrote {RECORDED}")


if __name__ == "__main__":
    main()
