"""From Spark's progress document to the numbers of one batch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.events.types import BatchProgress, ExpectationCount, OperatorState
from penstock.spark.expectations.observed import ObservedExpectations
from penstock.storage import local_path


@dataclass(frozen=True, slots=True)
class CountedRows:
    """What one batch's query counted: the rows that the target's expectations saw, and those that were kept out.

    `evaluated` is None when Spark reported no counts, as of a batch that the target had already.
    """

    evaluated: int | None
    dropped: int
    quarantined: int
    dropped_in_views: int


def batch_progress(
    progress: Mapping[str, Any],
    observed: Sequence[ObservedExpectations],
    before: Sequence[OperatorState] = (),
) -> BatchProgress:
    """Returns what a micro-batch did.

    `observed` lists the flow's counters, the target's own last: it gives the rows written. `before` is the state after
    the batch before, empty when that is not known.
    """
    counters = progress.get("observedMetrics") or {}
    written, dropped, quarantined, expectations = summed(counters, observed)
    states = progress.get("stateOperators") or []
    sources = progress.get("sources") or []
    behind = _kafka_backlog(sources)
    phases = {name: int(value) for name, value in (progress.get("durationMs") or {}).items()}
    return BatchProgress(
        batch_id=int(progress["batchId"]),
        num_input_rows=int(progress.get("numInputRows") or 0),
        num_output_rows=written,
        dropped_records=dropped,
        quarantined_records=quarantined,
        input_rows_per_second=_number(progress.get("inputRowsPerSecond")),
        processed_rows_per_second=_number(progress.get("processedRowsPerSecond")),
        batch_duration_ms=phases.pop("triggerExecution", None),
        phases_ms=phases,
        watermark=_watermark(progress),
        state_rows=sum(int(state["numRowsTotal"]) for state in states) if states else None,
        state_bytes=sum(int(state["memoryUsedBytes"]) for state in states) if states else None,
        state_operators=_operator_states(states, before),
        late_rows=sum(int(state["numRowsDroppedByWatermark"]) for state in states) if states else None,
        backlog_bytes=_backlog(sources, "numBytesOutstanding"),
        backlog_files=_backlog(sources, "numFilesOutstanding"),
        backlog_records=_records_behind(sources, behind),
        backlog_ms=max(_reported(sources, "millisBehindLatest"), default=None),
        backlog_partitions=behind or {},
        expectations=expectations,
        event_time_max=(progress.get("eventTime") or {}).get("max"),
    )


def refresh_progress(
    counters: Mapping[str, Mapping[str, int]],
    observed: Sequence[ObservedExpectations],
    *,
    batch_id: int,
    seconds: float,
) -> BatchProgress:
    """Returns what one batch refresh did; its input rows are those that the query returned."""
    written, dropped, quarantined, expectations = summed(counters, observed)
    rows = written + dropped + quarantined
    return BatchProgress(
        batch_id=batch_id,
        num_input_rows=rows,
        num_output_rows=written,
        dropped_records=dropped,
        quarantined_records=quarantined,
        processed_rows_per_second=rows / seconds if seconds > 0 else None,
        batch_duration_ms=round(seconds * 1000),
        expectations=expectations,
    )


def summed(
    counters: Mapping[str, Mapping[str, int]], observed: Sequence[ObservedExpectations]
) -> tuple[int, int, int, tuple[ExpectationCount, ...]]:
    """Returns the rows written, dropped and quarantined, and all expectation counts.

    Rows are counted where they are taken out, in an inlined view or in the target itself.
    """
    written, dropped, quarantined = 0, 0, 0
    expectations: list[ExpectationCount] = []
    for each in observed:
        values = counters.get(each.metric) or {}
        dropped_here, quarantined_here = each.dropped(values), each.quarantined(values)
        written = values.get("total", 0) - dropped_here - quarantined_here
        dropped += dropped_here
        quarantined += quarantined_here
        expectations.extend(each.counts(values))
    return written, dropped, quarantined, tuple(expectations)


def counted_rows(counters: Mapping[str, Mapping[str, int]], observed: Sequence[ObservedExpectations]) -> CountedRows:
    """Returns the rows of a batch as its query counted them; `observed` as for `batch_progress`."""
    *views, target = observed
    values = counters.get(target.metric) or {}
    in_views = sum(
        each.dropped(counters.get(each.metric) or {}) + each.quarantined(counters.get(each.metric) or {})
        for each in views
    )
    return CountedRows(target.total(values), target.dropped(values), target.quarantined(values), in_views)


def deduplicated_rows(progress: Mapping[str, Any]) -> int | None:
    """Returns how many repetitions the stateful operators of a batch removed; None when none of them reports it."""
    reported = [state.get("customMetrics", {}).get("numDroppedDuplicateRows") for state in progress["stateOperators"]]
    known = [int(value) for value in reported if value is not None]
    return sum(known) if known else None


def delta_path(description: str, kind: str) -> str | None:
    """Returns the path in how a `DeltaSource` or `DeltaSink` describes itself; None for another source or sink."""
    if not description.startswith(f"{kind}["):
        return None
    return local_path(description.removeprefix(f"{kind}[").removesuffix("]"))


def _operator_states(states: Sequence[Mapping[str, Any]], before: Sequence[OperatorState]) -> tuple[OperatorState, ...]:
    earlier = [state.rows for state in before] if len(before) == len(states) else [None] * len(states)
    return tuple(
        OperatorState(
            name=str(state.get("operatorName")),
            rows=int(state["numRowsTotal"]),
            bytes=int(state["memoryUsedBytes"]),
            updated_rows=int(state.get("numRowsUpdated") or 0),
            removed_rows=int(state.get("numRowsRemoved") or 0),
            growth=None if rows is None else int(state["numRowsTotal"]) - rows,
        )
        for state, rows in zip(states, earlier, strict=True)
    )


def _watermark(progress: Mapping[str, Any]) -> str | None:
    mark = (progress.get("eventTime") or {}).get("watermark")
    # Spark's watermark of a query that has not seen a row yet.
    return None if mark is None or str(mark).startswith("1970-01-01T00:00:00") else str(mark)


def _backlog(sources: Sequence[Mapping[str, Any]], metric: str) -> int | None:
    found = [source["metrics"][metric] for source in sources if metric in (source.get("metrics") or {})]
    return sum(int(float(value)) for value in found) if found else None


def _kafka_backlog(sources: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]] | None:
    """Returns by topic and partition how many offsets are left after a batch; None without a source that reports it."""
    behind: dict[str, dict[str, int]] | None = None
    for source in sources:
        latest, end = source.get("latestOffset"), source.get("endOffset")
        if not str(source.get("description", "")).startswith("Kafka") or not latest or not end:
            continue
        behind = {} if behind is None else behind
        for topic, partitions in latest.items():
            known = behind.setdefault(topic, {})
            for partition, offset in partitions.items():
                left = int(offset) - int((end.get(topic) or {}).get(partition, 0))
                known[partition] = known.get(partition, 0) + left
    return behind


def _records_behind(sources: Sequence[Mapping[str, Any]], kafka: dict[str, dict[str, int]] | None) -> int | None:
    reported = _reported(sources, "recordsBehindLatest")
    if kafka is not None:
        reported.append(sum(sum(each.values()) for each in kafka.values()))
    return sum(reported) if reported else None


def _reported(sources: Sequence[Mapping[str, Any]], key: str) -> list[int]:
    """What sources that are written in Python report of their newest offset: how far they are behind it."""
    latest = [source.get("latestOffset") for source in sources]
    return [int(each[key]) for each in latest if isinstance(each, dict) and key in each]


def _number(value: Any) -> float | None:
    # Spark prints NaN and Infinity for a batch of no duration.
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
