"""A log of days of batches, written line by line as a run that is always on leaves it."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from penstock.events import BatchProgress, Event, EventLog, EventType, FlowStatus, builders
from penstock.events.codec import encode
from penstock.events.log.segments import segment_name
from penstock.events.types import Level, Origin

TABLES: Final = 4
_BEGINNING: Final = datetime(2026, 1, 1, tzinfo=UTC)
_SEGMENT: Final = 16 << 20
_DAY: Final = 86_400
_PHASES: Final = {"latestOffset": 40, "queryPlanning": 60, "walCommit": 25, "addBatch": 800, "commitOffsets": 25}


def write_long_log(storage: Path, *, batches: int, days: float) -> None:
    """Writes `batches` batches of TABLES tables, each of which reads the one before it, evenly over `days`."""
    names = [f"shop.table_{number}" for number in range(TABLES)]
    with EventLog.open(str(storage), pipeline_name="shop", update_id="long") as log:
        created = builders.create_update(pipeline="shop", cause="USER_ACTION", version="1", continuous=True)
        log.append(EventType.CREATE_UPDATE, *created)
        for number, name in enumerate(names):
            reads = [names[number - 1]] if number else []
            defined = builders.dataset_definition(name, dataset_type="STREAMING_TABLE", inputs=reads)
            log.append(EventType.DATASET_DEFINITION, *defined, dataset=name)
            flow = builders.flow_definition(_flow(name), output_dataset=name, flow_type="append", input_datasets=reads)
            log.append(EventType.FLOW_DEFINITION, *flow, dataset=name, flow=_flow(name))
        log.append(EventType.PLANNING_INFORMATION, *builders.planning_information([("RUN", None, None, "all")]))
    rounds = batches // TABLES
    step = days * _DAY / rounds
    sequence, part, written = 100, 2, _SEGMENT
    segment = None
    for number in range(rounds):
        if written >= _SEGMENT:
            if segment is not None:
                segment.close()
            segment = (storage / "events" / segment_name(1, part)).open("w")
            part, written = part + 1, 0
        assert segment is not None
        rows = round(step * 40 * (1 - 0.6 * math.cos(2 * math.pi * number * step / _DAY)))
        for name in names:
            sequence += 1
            written += segment.write(_line(name, number, rows, step, sequence))
    if segment is not None:
        segment.close()


def _line(name: str, number: int, rows: int, step: float, sequence: int) -> str:
    milliseconds = round(1000 * (0.8 + 0.00002 * rows))
    batch = BatchProgress(
        number,
        rows,
        rows,
        input_rows_per_second=rows / step,
        processed_rows_per_second=1000 * rows / milliseconds,
        batch_duration_ms=milliseconds,
        phases_ms=_PHASES,
    )
    message, details = builders.flow_batch(_flow(name), batch, status=FlowStatus.RUNNING)
    at = _BEGINNING + timedelta(seconds=(number + 1) * step)
    origin = Origin("shop", "long", name, _flow(name), number, "machine")
    event = Event(f"id-{sequence}", sequence, at, origin, Level.METRICS, EventType.FLOW_PROGRESS, message, details)
    return encode(event)


def _flow(name: str) -> str:
    return name.partition(".")[2]
