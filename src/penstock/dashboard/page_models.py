"""What the templates show, made from the projections: plain values, no HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.events import Event
from penstock.observe import numbers
from penstock.observe.accounting import AccountCounts
from penstock.observe.definitions import DatasetDefinition
from penstock.observe.series import FlowSeries
from penstock.observe.status import DatasetStatus
from penstock.observe.updates import UpdateStatus

_CONSEQUENCES = {
    "warn": "is kept and counted",
    "drop": "is dropped and counted",
    "fail": "fails the flow; nothing of its batch is written",
    "quarantine": "goes to quarantine",
}


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """A dataset as the overview's table and its own page show it; `lag` in words."""

    name: str
    kind: str
    status: Any
    rows: int | None
    dropped: int | None
    quarantined: int | None
    has_quarantine: bool
    late: int
    input_rows_per_second: float | None
    processed_rows_per_second: float | None
    passed: int
    checked: int
    watermark: str | None
    lag: str | None
    state_rows: int | None
    last_batch_duration_ms: int | None
    last_batch_at: datetime | None
    error: Mapping[str, Any] | None
    retry_at: datetime | None
    batches: int
    balanced: int
    broken: int
    accounts_error: Mapping[str, Any] | None
    watermark_warning: Mapping[str, Any] | None

    @classmethod
    def of(cls, dataset: DatasetStatus) -> DatasetRow:
        """Returns the row of one dataset."""
        accounts = dataset.accounts or AccountCounts()
        passed = sum(rule.passed for rule in dataset.expectations)
        return cls(
            name=dataset.name,
            kind=dataset.type.replace("_", " ").lower() if dataset.type else "dataset",
            status=dataset.status,
            rows=dataset.rows,
            dropped=dataset.dropped,
            quarantined=dataset.quarantined,
            has_quarantine=dataset.has_quarantine or bool(dataset.quarantined),
            late=dataset.late or 0,
            input_rows_per_second=dataset.input_rows_per_second,
            processed_rows_per_second=dataset.processed_rows_per_second,
            passed=passed,
            checked=passed + sum(rule.failed for rule in dataset.expectations),
            watermark=dataset.watermark,
            lag=None if dataset.lag is None else str(dataset.lag),
            state_rows=dataset.state_rows,
            last_batch_duration_ms=dataset.last_batch_duration_ms,
            last_batch_at=dataset.last_batch_at,
            error=error_model(dataset.error),
            retry_at=dataset.retry_at,
            batches=accounts.batches,
            balanced=accounts.balanced,
            broken=accounts.broken,
            accounts_error=error_model(accounts.error),
            watermark_warning=error_model(dataset.watermark_warning),
        )


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One expectation of a dataset, with what it says and what it did."""

    name: str
    constraint: str | None
    consequence: str
    passed: int
    failed: int

    @property
    def checked(self) -> int:
        """Rows that were checked."""
        return self.passed + self.failed


def rule_rows(dataset: DatasetStatus, definition: DatasetDefinition) -> list[RuleRow]:
    """Returns the dataset's expectations in the order of their declaration."""
    constraints = {rule.name: rule.constraint for rule in definition.rules}
    return [
        RuleRow(
            name=rule.name,
            constraint=constraints.get(rule.name),
            consequence=_CONSEQUENCES.get(rule.action, rule.action),
            passed=rule.passed,
            failed=rule.failed,
        )
        for rule in dataset.expectations
    ]


def totals(rows: Iterable[DatasetRow]) -> dict[str, Any]:
    """Returns the figures over all datasets."""
    every = list(rows)
    return {
        "rows": sum(row.rows or 0 for row in every),
        "dropped": sum(row.dropped or 0 for row in every),
        "quarantined": sum(row.quarantined or 0 for row in every),
        "has_quarantine": any(row.has_quarantine for row in every),
        "late": sum(row.late for row in every),
        "passed": sum(row.passed for row in every),
        "checked": sum(row.checked for row in every),
        "last_batch_at": max((row.last_batch_at for row in every if row.last_batch_at), default=None),
    }


def state_words(rows: Iterable[DatasetRow]) -> str:
    """Returns `4 completed, 1 failed`, the most frequent first; views, which have no state, are left out."""
    counts = Counter(row.status.value.lower() for row in rows if row.status is not None)
    return ", ".join(f"{count} {word}" for word, count in counts.most_common()) or "not started"


def update_model(update: UpdateStatus | None) -> dict[str, Any] | None:
    """Returns the newest update for a page's head."""
    if update is None:
        return None
    took = None if update.ended is None else (update.ended - update.started).total_seconds() * 1000
    return {
        "id": update.id,
        "state": update.state,
        "started": update.started,
        "ended": update.ended,
        "took": numbers.duration_ms(took),
        "cause": update.cause.replace("_", " ").lower() if update.cause else None,
        "error": error_model(update.error),
    }


def event_models(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Returns the events for a table."""
    return [
        {
            "timestamp": event.timestamp,
            "level": event.level.value,
            "dataset": event.origin.dataset_name,
            "message": event.message,
            "error": error_model(event.error),
        }
        for event in events
    ]


def error_model(error: Mapping[str, Any] | None) -> dict[str, str | None] | None:
    """Returns an error's texts; a log may lack any of them."""
    if error is None:
        return None
    keys = ("condition", "message", "fix", "file", "line")
    model: dict[str, str | None] = {key: None if error.get(key) is None else str(error[key]) for key in keys}
    model["message"] = model["message"] or "It failed without a message."
    return model


def series_model(series: Iterable[FlowSeries]) -> list[dict[str, Any]]:
    """Returns each flow's points as columns, which is what the charts take; times in seconds since 1970."""
    return [
        {
            "flow": one.flow,
            "timestamps": [point.timestamp.timestamp() for point in one.points],
            "updates": [point.update_id for point in one.points],
            "batch_ids": [point.batch_id for point in one.points],
            "output_rows": [point.output_rows for point in one.points],
            "input_rows_per_second": [point.input_rows_per_second for point in one.points],
            "processed_rows_per_second": [point.processed_rows_per_second for point in one.points],
            "batch_duration_ms": [point.batch_duration_ms for point in one.points],
        }
        for one in series
    ]
