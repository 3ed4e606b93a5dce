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

from penstock.errors import DataError, SourceLocation, StateError
from penstock.events import (
    BatchProgress,
    Event,
    EventLog,
    EventType,
    ExpectationCount,
    FlowStatus,
    Level,
    UpdateState,
)
from penstock.events import builders as say
from penstock.events.audit import Actor
from penstock.graph.column_lineage import ColumnLineage, InputColumn, OutputColumn, Transformation

RECORDED = Path(__file__).parent / "orders"
FIRST_UPDATE = "0f6d3c1e-5d0a-4b7e-9a51-3f2f0c6f1a01"
SECOND_UPDATE = "7b8e4a52-91c3-4f0d-8c64-d2a5be10ce02"
START = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)

_STORED = ("bronze_orders", "silver_orders", "hourly_revenue", "revenue_report")
_ORDER_COLUMNS = (
    ("order_id", "bigint", None),
    ("customer_id", "string", "who ordered; null is a fault of the shop"),
    ("amount", "double", "in euros"),
    ("order_time", "timestamp", None),
)
_SILVER_CHECKS = (
    ("has customer", "customer_id IS NOT NULL", "warn"),
    ("positive amount", "amount > 0", "drop"),
    ("valid time", "order_time > '2020-01-01'", "drop"),
)


def _lineage(
    read: str, ways: tuple[Transformation, ...], rows: tuple[InputColumn, ...] = (), *, unknown: tuple[str, ...] = ()
) -> ColumnLineage:
    """Each column is made of that of the same name, in its own way; of those that are `unknown`, nobody knows."""
    return ColumnLineage(
        tuple(
            OutputColumn(name, (), resolved=False)
            if name in unknown
            else OutputColumn(name, (InputColumn(read, name, (way,)),))
            for (name, _, _), way in zip(_ORDER_COLUMNS, ways, strict=True)
        ),
        rows,
        rows_resolved=not unknown,
    )


_SAME = (Transformation.IDENTITY,) * 4
_BRONZE = _lineage("cloudFiles ./data/orders", (*_SAME[:3], Transformation.TRANSFORMATION))
_SILVER = _lineage(
    "shop.bronze_orders", _SAME, (InputColumn("shop.bronze_orders", "amount", (Transformation.FILTER,)),)
)
_HOURLY = _lineage(
    "shop.silver_orders",
    (Transformation.AGGREGATION,) * 3 + (Transformation.TRANSFORMATION,),
    (InputColumn("shop.silver_orders", "order_time", (Transformation.GROUP_BY,)),),
)
_REPORT = _lineage("shop.hourly_revenue", _SAME, unknown=("amount",))


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

    def batch(self, flow: str, progress: BatchProgress, *, after: float = 0.3) -> None:
        self.clock.step(after)
        self.log.append(
            EventType.FLOW_PROGRESS,
            *say.flow_batch(flow, progress),
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
        dropped = negative + ancient
        counts = zip(_SILVER_CHECKS, (nulls, negative, ancient), strict=True)
        self.batch(
            "silver_orders",
            BatchProgress(
                batch_id=batch_id,
                num_input_rows=rows,
                num_output_rows=rows - dropped,
                dropped_records=dropped,
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
        return rows - dropped

    def hourly(self, batch_id: int, rows: int, *, hours: int, watermark: datetime) -> None:
        duration = self.random.randint(900, 2400)
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
                state_rows=24 + batch_id,
                state_bytes=(24 + batch_id) * 620,
                late_rows=batch_id % 4,
                expectations=(ExpectationCount("revenue is positive", "shop.hourly_revenue", hours, 0, "fail"),),
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
            "silver_orders", "STREAMING_TABLE", 30, "Orders that can be trusted", ("shop.paid_orders",), _SILVER_CHECKS
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
        self._flow("bronze_orders", "append", (), 10, sources=(source,), lineage=_BRONZE)
        self._flow("silver_orders", "append", ("shop.paid_orders",), 30, lineage=_SILVER)
        self._flow("hourly_revenue", "append", ("shop.silver_orders",), 44, stateful=("aggregate",), lineage=_HOURLY)
        self._flow("revenue_report", "materialized_view", ("shop.hourly_revenue",), 60, lineage=_REPORT)
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
        kind: say.DatasetType,
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
                schema=_ORDER_COLUMNS,
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
                schema=_ORDER_COLUMNS,
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
