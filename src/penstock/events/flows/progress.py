"""Reading a batch's numbers back from its event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from penstock.events.details import mapping, mappings, moment
from penstock.events.lateness import Lateness
from penstock.events.types import (
    BatchProgress,
    CheckpointedBatch,
    Event,
    EventType,
    ExpectationCount,
    FlowStatus,
    OperatorState,
)


def flow_status_of(event: Event) -> FlowStatus | None:
    """Returns the status of a `flow_progress` event, else None."""
    try:
        return FlowStatus(_progress(event).get("status"))
    except ValueError:
        return None


def retry_at_of(event: Event) -> datetime | None:
    """Returns when the flow of a `flow_progress` event is tried again, if it has failed, else None."""
    return moment(_progress(event), "retry_at")


def batch_progress_of(event: Event) -> BatchProgress | None:
    """Returns the numbers of a batch's `flow_progress` event, else None.

    Numbers that are missing or of another type count as 0 or None: a log of another version must
    not break a projection.
    """
    progress = _progress(event)
    metrics = progress.get("metrics")
    if not isinstance(metrics, dict):
        return None
    quality = mapping(progress, "data_quality") or {}
    phases = metrics.get("phases_ms")
    watermark, newest = metrics.get("watermark"), metrics.get("event_time_max")
    return BatchProgress(
        batch_id=_integer(metrics.get("batch_id"), event.origin.batch_id) or 0,
        num_input_rows=_integer(metrics.get("num_input_rows")) or 0,
        num_output_rows=_integer(metrics.get("num_output_rows")) or 0,
        dropped_records=_integer(metrics.get("dropped_records"), quality.get("dropped_records")) or 0,
        quarantined_records=_integer(metrics.get("quarantined_records")) or 0,
        input_rows_per_second=_number(metrics.get("input_rows_per_second")),
        processed_rows_per_second=_number(metrics.get("processed_rows_per_second")),
        batch_duration_ms=_integer(metrics.get("batch_duration_ms")),
        phases_ms={str(k): _integer(v) or 0 for k, v in phases.items()} if isinstance(phases, dict) else {},
        watermark=watermark if isinstance(watermark, str) else None,
        state_rows=_integer(metrics.get("state_rows")),
        state_bytes=_integer(metrics.get("state_bytes")),
        state_operators=tuple(_operators(metrics)),
        late_rows=_integer(metrics.get("late_rows")),
        num_upserted_rows=_integer(metrics.get("num_upserted_rows")),
        num_deleted_rows=_integer(metrics.get("num_deleted_rows")),
        backlog_bytes=_integer(metrics.get("backlog_bytes")),
        backlog_files=_integer(metrics.get("backlog_files")),
        backlog_records=_integer(metrics.get("backlog_records")),
        backlog_ms=_integer(metrics.get("backlog_ms")),
        backlog_partitions=_partitions(metrics.get("backlog_partitions")),
        expectations=tuple(
            ExpectationCount(
                name=str(count.get("name")),
                dataset=str(count.get("dataset") or event.origin.dataset_name),
                passed_records=_integer(count.get("passed_records")) or 0,
                failed_records=_integer(count.get("failed_records")) or 0,
                action=str(count.get("action") or "warn"),
            )
            for count in mappings(quality, "expectations")
        ),
        event_time_max=newest if isinstance(newest, str) else None,
        lateness=Lateness.from_json(metrics.get("lateness")),
    )


def checkpointed_batch_of(event: Event) -> CheckpointedBatch | None:
    """Returns what the checkpoint said about a batch, None when its event does not have it."""
    match _progress(event).get("checkpoint"):
        case {"query_id": str(query_id), "offsets": dict(offsets), **rest}:
            recorded = rest.get("settings")
            settings = {str(key): str(value) for key, value in recorded.items()} if isinstance(recorded, dict) else {}
            return CheckpointedBatch(query_id, offsets, settings)
        case _:
            return None


def _partitions(recorded: object) -> dict[str, dict[str, int]]:
    return {
        str(topic): {str(partition): _integer(records) or 0 for partition, records in partitions.items()}
        for topic, partitions in (recorded.items() if isinstance(recorded, dict) else ())
        if isinstance(partitions, dict)
    }


def _operators(metrics: Mapping[str, Any]) -> Iterator[OperatorState]:
    for operator in mappings(metrics, "state_operators"):
        yield OperatorState(
            name=str(operator.get("name")),
            rows=_integer(operator.get("rows")) or 0,
            bytes=_integer(operator.get("bytes")) or 0,
            updated_rows=_integer(operator.get("updated_rows")) or 0,
            removed_rows=_integer(operator.get("removed_rows")) or 0,
            growth=_integer(operator.get("growth")),
        )


def _progress(event: Event) -> dict[str, Any]:
    if event.event_type is not EventType.FLOW_PROGRESS:
        return {}
    value = event.details.get(EventType.FLOW_PROGRESS.value)
    return value if isinstance(value, dict) else {}


def _integer(value: object, otherwise: object = None) -> int | None:
    if type(value) is int:  # not a bool; and quicker than isinstance, for all the numbers of a long log
        return value
    if type(value) is float:
        return int(value)
    return None if otherwise is None else _integer(otherwise)


def _number(value: object) -> float | None:
    return value if type(value) is float else _integer(value)
