"""What is wrong with a pipeline: since when, which rows, and what to type; the worst and oldest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final

from penstock.events.alerts import Alert
from penstock.events.details import mapping, text
from penstock.events.types import FlowStatus
from penstock.observe.flows.throughput import FlowThroughput
from penstock.observe.lineage import Lineage
from penstock.observe.numbers import duration_ms
from penstock.observe.severity import Severity
from penstock.observe.status.pipeline_status import DatasetStatus, PipelineStatus

_LATEST: Final = datetime.max.replace(tzinfo=UTC)


class Evidence(Enum):
    """Where the rows are that a problem is about."""

    QUARANTINE = "quarantine"
    LATE_ROWS = "late"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        severity: how bad it is.
        message: what is wrong, one sentence.
        dataset: full name; None for one of the whole update.
        condition: a name for `penstock explain`, None when it is no error of the catalogue.
        fix: what to do, in words.
        place: `file:line` of the declaration.
        since: when it began, as far as the log has it.
        retry_at: when Penstock tries again by itself.
        row: the row that is to blame, as JSON.
        evidence: where more of its rows are.
        holds_up: full names of the datasets that get no rows because of it.
        commands: what to type.
        alert: the alert that fires about it, None when none was raised.
    """

    severity: Severity
    message: str
    dataset: str | None = None
    condition: str | None = None
    fix: str | None = None
    place: str | None = None
    since: datetime | None = None
    retry_at: datetime | None = None
    row: str | None = None
    evidence: Evidence | None = None
    holds_up: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    alert: Alert | None = None


def find_problems(
    status: PipelineStatus, lineage: Lineage, throughput: Iterable[FlowThroughput] = ()
) -> tuple[Problem, ...]:
    """Returns what is wrong as of `status`; of a flow that falls behind, only while its update runs."""
    found = list(_of_update(status))
    if status.cluster is not None and status.cluster.error is not None:
        severity = Severity.ERROR if status.cluster.stalled else Severity.WARNING
        found.append(_problem(status.cluster.error, severity=severity, since=status.cluster.since))
    found += [_problem(error, severity=Severity.WARNING, commands=("penstock doctor",)) for error in status.resources]
    after = _Downstream(lineage)
    for dataset in status.datasets:
        found.extend(_of_dataset(dataset, after))
    if status.update is not None and not status.update.state.terminal:
        found.extend(_behind(flow) for flow in throughput if flow.falling_behind)
    alerted = _with_alerts(found, status.alerts)
    return tuple(sorted(alerted, key=lambda each: (each.severity is Severity.WARNING, each.since or _LATEST)))


def _of_update(status: PipelineStatus) -> Iterator[Problem]:
    update = status.update
    if update is None or update.error is None:
        return
    if update.error.get("condition") in {(each.error or {}).get("condition") for each in status.datasets}:
        return  # the flow's own says more
    yield _problem(update.error, since=update.ended or update.last_event_at, commands=("penstock run",))


def _of_dataset(dataset: DatasetStatus, after: _Downstream) -> Iterator[Problem]:
    if dataset.error is not None:
        waits = dataset.retry_at is not None
        yield _problem(
            dataset.error,
            severity=Severity.WARNING if waits else Severity.ERROR,
            dataset=dataset.name,
            since=dataset.error_since,
            retry_at=dataset.retry_at,
            holds_up=after.of(dataset.name),
            commands=() if waits else ("penstock run",),
        )
    elif dataset.status is FlowStatus.FAILED:
        yield Problem(
            Severity.ERROR, f"{dataset.name} failed.", dataset=dataset.name, commands=("penstock events --level ERROR",)
        )
    if dataset.accounts is not None and dataset.accounts.error is not None:
        yield _problem(dataset.accounts.error, dataset=dataset.name, since=dataset.accounts.broken_since)
    if dataset.watermark_warning is not None:
        yield _problem(
            dataset.watermark_warning,
            severity=Severity.WARNING,
            dataset=dataset.name,
            since=dataset.watermark_warning_since,
            evidence=Evidence.LATE_ROWS if dataset.late else None,
            commands=(f"penstock watermark {dataset.name}",),
        )
    if dataset.state_warning is not None:
        yield _problem(
            dataset.state_warning,
            severity=Severity.WARNING,
            dataset=dataset.name,
            commands=(f"penstock state {dataset.name}",),
        )


def _with_alerts(found: Iterable[Problem], alerts: Iterable[Alert]) -> Iterator[Problem]:
    """Yields each problem with the alert about it, then those that only an alert reports."""
    left = list(alerts)
    for problem in found:
        mine = next((alert for alert in left if alert.reports(problem.dataset, problem.condition)), None)
        if mine is not None:
            left.remove(mine)
        yield replace(problem, alert=mine)
    for alert in left:
        alerted = _problem(
            alert.error,
            severity=Severity.WARNING,
            dataset=alert.dataset,
            since=alert.since,
            commands=("penstock alerts check",),
        )
        yield replace(alerted, alert=alert)


def _behind(flow: FlowThroughput) -> Problem:
    name = flow.dataset if flow.dataset.rpartition(".")[2] == flow.flow else f"{flow.dataset} (flow {flow.flow})"
    drains = (
        f" At this pace it is gone in {duration_ms(1000 * flow.drain_seconds)}."
        if flow.drain_seconds is not None
        else ""
    )
    return Problem(
        Severity.WARNING,
        f"{name} is falling behind: {flow.falling_behind}.{drains}",
        dataset=flow.dataset,
        condition="FLOW_FALLING_BEHIND",
        fix="Look which part of a batch takes the time; more cores, or a larger batch, help most.",
        since=flow.since,
        commands=("penstock status",),
    )


def _problem(
    error: Mapping[str, Any],
    *,
    severity: Severity = Severity.ERROR,
    dataset: str | None = None,
    since: datetime | None = None,
    retry_at: datetime | None = None,
    evidence: Evidence | None = None,
    holds_up: tuple[str, ...] = (),
    commands: tuple[str, ...] = (),
) -> Problem:
    condition = text(error, "condition")
    file, line = text(error, "file"), text(error, "line")
    return Problem(
        severity,
        text(error, "message") or "It failed without a message.",
        dataset=dataset,
        condition=condition,
        fix=text(error, "fix"),
        place=f"{file}:{line}" if file and line else file,
        since=since,
        retry_at=retry_at,
        row=text(mapping(error, "facts") or {}, "row"),
        evidence=evidence,
        holds_up=holds_up,
        commands=(*commands, *([f"penstock explain {condition}"] if condition else [])),
    )


class _Downstream:
    """Who gets the rows of a dataset, directly or through others."""

    def __init__(self, lineage: Lineage) -> None:
        self._after: dict[str, list[str]] = {}
        for edge in lineage.edges:
            self._after.setdefault(edge.upstream.casefold(), []).append(edge.downstream)

    def of(self, dataset: str) -> tuple[str, ...]:
        found: dict[str, None] = {}
        waiting = list(self._after.get(dataset.casefold(), ()))
        while waiting:
            name = waiting.pop(0)
            if name not in found and name.casefold() != dataset.casefold():
                found[name] = None
                waiting.extend(self._after.get(name.casefold(), ()))
        return tuple(found)
