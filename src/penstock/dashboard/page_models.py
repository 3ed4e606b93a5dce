"""What the templates show, made from the projections: plain values, no HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from markupsafe import Markup

from penstock.events import Event
from penstock.observe import numbers
from penstock.observe.accounting import AccountCounts
from penstock.observe.definitions import DatasetDefinition
from penstock.observe.flow_definitions import FlowDefinition
from penstock.observe.quality import ExpectationQuality
from penstock.observe.series import FlowSeries
from penstock.observe.status import DatasetStatus
from penstock.observe.throughput import FlowThroughput
from penstock.observe.updates import UpdateStatus

_SPARKS = 60
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
    """One expectation of a dataset, with what it says and what it did; `spark` draws its newest batches."""

    name: str
    constraint: str | None
    consequence: str
    action: str
    passed: int
    failed: int
    first_failure_at: datetime | None
    last_failure_at: datetime | None
    spark: Markup | None

    @property
    def checked(self) -> int:
        """Rows that were checked."""
        return self.passed + self.failed


def rule_rows(
    dataset: DatasetStatus, definition: DatasetDefinition, quality: Iterable[ExpectationQuality] = ()
) -> list[RuleRow]:
    """Returns the dataset's expectations in the order of their declaration."""
    constraints = {rule.name: rule.constraint for rule in definition.rules}
    over_time = {each.name: each for each in quality}
    rows = []
    for rule in dataset.expectations:
        history = over_time.get(rule.name)
        rows.append(
            RuleRow(
                name=rule.name,
                constraint=constraints.get(rule.name),
                consequence=_CONSEQUENCES.get(rule.action, rule.action),
                action=rule.action,
                passed=rule.passed,
                failed=rule.failed,
                first_failure_at=history.first_failure_at if history else None,
                last_failure_at=history.last_failure_at if history else None,
                spark=sparkline(history) if history else None,
            )
        )
    return rows


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
            "type": event.event_type.value,
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
    """Returns each flow's batches as columns, which is what the charts take; times in seconds since 1970."""
    return [
        {"flow": one.flow, "timestamps": one.timestamps, "updates": one.updates, "figures": one.figures}
        for one in series
    ]


@dataclass(frozen=True, slots=True)
class FlowRow:
    """A flow as the pages of its dataset and its own show it."""

    dataset: str
    flow: str
    kind: str
    location: str | None
    inputs: tuple[str, ...]
    sources: tuple[str, ...]
    stateful: tuple[str, ...]
    watermark: str | None
    falling_behind: str | None
    drains_in: float | None
    rows_per_second: float | None


def flow_row(flow: FlowDefinition, throughput: FlowThroughput | None) -> FlowRow:
    """Returns the row of one flow; `throughput` is None without a batch in the newest update."""
    seconds = throughput.drain_seconds if throughput else None
    return FlowRow(
        dataset=flow.dataset,
        flow=flow.flow,
        kind=(flow.flow_type or "flow").replace("_", " ").lower(),
        location=flow.location,
        inputs=flow.inputs,
        sources=tuple(f"{kind} {description}".strip() for kind, description in flow.sources),
        stateful=flow.stateful,
        watermark=None if flow.watermark is None else f"{flow.watermark[0]}, {flow.watermark[1]}",
        falling_behind=throughput.falling_behind if throughput else None,
        drains_in=None if seconds is None else 1000 * seconds,
        rows_per_second=throughput.rows_per_second if throughput else None,
    )


def is_running(update: UpdateStatus | None) -> bool:
    """Whether the newest update goes on."""
    return update is not None and not update.state.terminal


def sparkline(quality: ExpectationQuality) -> Markup | None:
    """Returns the share of rows that broke a rule in each of its newest batches, as a small drawing without words.

    The highest bar is the greatest share of them: the drawing shows when, the numbers beside it how many.
    """
    points = [point for point in quality.points if point.passed + point.failed][-_SPARKS:]
    if len(points) < 2:
        return None
    shares = [point.failed / (point.passed + point.failed) for point in points]
    most = max(shares) or 1.0
    bars = []
    for number, share in enumerate(shares):
        height = 0.0 if not share else max(18 * share / most, 2.0)
        bars.append(f'<rect x="{number * 3}" y="{18 - height:.1f}" width="2" height="{height:.1f}"/>')
    width = 3 * len(points)
    return Markup(  # noqa: S704 - numbers only
        f'<svg class="spark" width="{width}" height="19" viewBox="0 0 {width} 19" aria-hidden="true">'
        f'<path d="M0 18.5H{width}"/>{"".join(bars)}</svg>'
    )
