"""An event log of any length, as runs of many tables leave it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from penstock.events import BatchProgress, Event, EventLog, EventType, ExpectationCount, FlowStatus, UpdateState
from penstock.events import builders as say
from penstock.events.codec import encode, format_timestamp
from penstock.events.flows.accounting import BatchAccounts
from penstock.events.log.segments import segment_name
from penstock.events.types import Level, Origin

_SEGMENT: Final = 16 << 20
_START: Final = datetime(2026, 1, 1, tzinfo=UTC)


class LogWriter:
    """Writes batches of `tables` tables, round after round; the numbers are those of one real batch."""

    def __init__(self, storage: Path, tables: int) -> None:
        self.events = 0
        self.tables = tables
        self._storage = storage
        self._names = [f"shop.table_{number:04}" for number in range(tables)]
        self._templates = [_template(name) for name in self._names]
        self.batches = 0
        self._part = 2

    def define(self) -> None:
        """Writes the beginning of the update: each table reads one before it."""
        with EventLog.open(str(self._storage), pipeline_name="long", update_id="one") as log:
            started = say.create_update(pipeline="long", cause="USER_ACTION", version="1", continuous=True)
            log.append(EventType.CREATE_UPDATE, *started)
            for number, name in enumerate(self._names):
                reads = [self._names[number // 3]] if number else []
                rules = [("positive", "amount > 0", "drop"), ("known", "customer IS NOT NULL", "warn")]
                columns = [("id", "bigint", None), ("customer", "string", None), ("amount", "double", "in euros")]
                defined = say.dataset_definition(
                    name, dataset_type="STREAMING_TABLE", schema=columns, inputs=reads, expectations=rules
                )
                log.append(EventType.DATASET_DEFINITION, *defined, dataset=name)
                flow = say.flow_definition(_flow(name), output_dataset=name, flow_type="append", input_datasets=reads)
                log.append(EventType.FLOW_DEFINITION, *flow, dataset=name, flow=_flow(name))
            log.append(EventType.UPDATE_PROGRESS, *say.update_progress(UpdateState.RUNNING, pipeline="long"))
            self.events = 2 + 2 * len(self._names)

    def rounds(self, size: int) -> None:
        """Writes rounds until about `size` bytes are written, in segments as a run closes them."""
        written = 0
        while written < size:
            with (self._storage / "events" / segment_name(1, self._part)).open("w") as segment:
                self._part += 1
                here = 0
                while here < _SEGMENT and written + here < size:
                    for line in self._round():
                        here += segment.write(line)
            written += here

    def append_round(self) -> None:
        """Writes one more round, as a running pipeline does."""
        with (self._storage / "events" / segment_name(1, self._part)).open("a") as segment:
            segment.writelines(self._round())

    def _round(self) -> Iterator[str]:
        self.batches += 1
        at = format_timestamp(_START + timedelta(seconds=self.batches))
        for template in self._templates:
            for line in template:
                yield line.replace("@SEQUENCE@", str(self.events)).replace("987654", str(self.batches)).replace(_AT, at)
                self.events += 1


_AT: Final = "2026-01-01T00:00:00.000000Z"


def _flow(name: str) -> str:
    return name.partition(".")[2]


def _template(name: str) -> tuple[str, str]:
    counts = tuple(
        ExpectationCount(rule, name, 990, 10, action) for rule, action in (("positive", "drop"), ("known", "warn"))
    )
    phases = {"latestOffset": 40, "queryPlanning": 60, "walCommit": 25, "addBatch": 800, "commitOffsets": 25}
    batch = BatchProgress(
        987654, 1000, 990, dropped_records=10, input_rows_per_second=1000.0, processed_rows_per_second=1052.6,
        batch_duration_ms=950, phases_ms=phases, watermark=_AT, state_rows=5000, state_bytes=3_100_000, late_rows=0,
        backlog_files=0, backlog_bytes=0, expectations=counts,
    )  # fmt: skip
    origin = Origin("long", "one", name, _flow(name), 987654, "machine")
    told = [
        (EventType.FLOW_PROGRESS, say.flow_batch(_flow(name), batch, status=FlowStatus.RUNNING)),
        (EventType.ACCOUNTING, say.accounting(_flow(name), BatchAccounts(987654, 1000, 1000, 990, dropped=10))),
    ]
    lines = [
        encode(Event("id-@SEQUENCE@", 0, _START, origin, Level.METRICS, kind, message, details))
        for kind, (message, details) in told
    ]
    return lines[0].replace('"sequence":0', '"sequence":@SEQUENCE@', 1), lines[1].replace(
        '"sequence":0', '"sequence":@SEQUENCE@', 1
    )
