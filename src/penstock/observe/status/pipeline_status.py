"""The status of a pipeline: what `penstock status`, the live view of `run` and the dashboard show."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.errors.catalogue import condition, fill
from penstock.events import Event, FlowStatus
from penstock.events.alerts import Alert
from penstock.events.codec import fields_to_json
from penstock.events.details import mapping
from penstock.events.flows.facts import FlowFact, FlowProjection
from penstock.observe.status.accounting import AccountCounts
from penstock.observe.status.alerts import AlertProjection
from penstock.observe.status.cluster import ClusterProjection, ClusterStatus
from penstock.observe.status.dataset_counts import CheckCounts, DatasetCounts, FlowCounts
from penstock.observe.status.lag import Lag, sum_known
from penstock.observe.status.undeclared import UndeclaredDatasets
from penstock.observe.status.updates import UpdateHistory, UpdateStatus


@dataclass(frozen=True, slots=True)
class ExpectationStatus:
    """How many rows met and broke an expectation, over the same batches as the dataset's `rows`."""

    name: str
    passed: int
    failed: int
    action: str
    """One of warn, drop, fail, quarantine."""


@dataclass(frozen=True, slots=True)
class DatasetStatus:
    """One dataset, all its flows together.

    Attributes:
        name: `schema.name`.
        type: STREAMING_TABLE, MATERIALIZED_VIEW, VIEW or SINK; None when the log does not have it.
        status: the state of its flows in the newest update, the one that matters most first; None
            for a view, and before the update came to it.
        rows: rows written by all updates since the last full refresh; for a materialized view and
            a complete flow, those of the last refresh. None for a view.
        dropped: rows that expectations dropped, over the same batches.
        quarantined: rows that expectations quarantined, over the same batches.
        late: rows that were dropped because they came behind the watermark, over the same batches, without those that
            `penstock late reprocess` has brought in.
        input_rows_per_second: arrival rate at the last batch of this update; 0 when idle, None without executors.
        processed_rows_per_second: processing rate of that batch; 0 when idle, None without executors.
        watermark: the earliest watermark of its flows, ISO 8601 in UTC.
        lag: what the sources still hold, None when they do not report it.
        state_rows: rows in the flows' state stores.
        last_batch_duration_ms: of the newest batch, over all updates.
        last_batch_at: when that batch was reported.
        error: the error of a failed or retrying flow, `{condition, message, fix, …}`; None once it
            runs again.
        error_since: when its flows began to fail, without a batch in between; None without an error.
        retry_at: when the next of its retrying flows is tried again, None when none waits.
        accounts: how the rows of its batches add up, over the same batches as `rows`; None for a view.
        watermark_warning: why a flow's watermark is stalled although rows arrive, like `error`; None when it moves.
        watermark_warning_since: when that was noticed.
        state_warning: that a join of its flows keeps rows for ever, with how many there are and how they grow, like
            `error`; None where none does, or where that is allowed.
        expectations: in the order of their declaration.
    """

    name: str
    type: str | None
    status: FlowStatus | None
    rows: int | None
    dropped: int | None
    quarantined: int | None = None
    late: int | None = None
    input_rows_per_second: float | None = None
    processed_rows_per_second: float | None = None
    watermark: str | None = None
    lag: Lag | None = None
    state_rows: int | None = None
    last_batch_duration_ms: int | None = None
    last_batch_at: datetime | None = None
    error: Mapping[str, Any] | None = None
    error_since: datetime | None = None
    retry_at: datetime | None = None
    accounts: AccountCounts | None = None
    watermark_warning: Mapping[str, Any] | None = None
    watermark_warning_since: datetime | None = None
    state_warning: Mapping[str, Any] | None = None
    expectations: tuple[ExpectationStatus, ...] = ()

    @property
    def has_quarantine(self) -> bool:
        """Whether an expectation quarantines rows, or one has."""
        return bool(self.quarantined) or any(each.action == "quarantine" for each in self.expectations)

    @property
    def passed(self) -> int:
        """Checks that were met, over all expectations."""
        return sum(each.passed for each in self.expectations)

    @property
    def checked(self) -> int:
        """All checks of all expectations."""
        return self.passed + sum(each.failed for each in self.expectations)

    def to_json(self) -> dict[str, Any]:
        """Returns one element of `datasets` of `status --json`."""
        document = fields_to_json(self)
        del document["watermark_warning_since"]
        return document


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """The newest update, and the datasets in the order of their definition. Empty before the first run."""

    update: UpdateStatus | None
    datasets: tuple[DatasetStatus, ...]
    undeclared: tuple[str, ...] = ()
    """Stored tables that the newest update found no longer declared."""
    alerts: tuple[Alert, ...] = ()
    """The alerts that fire, oldest first."""
    resources: tuple[Mapping[str, Any], ...] = ()
    """What `resource_warnings` finds in the run, as errors of the catalogue; the log does not have it."""
    cluster: ClusterStatus | None = None
    """The cluster of a running update; None of a local master, and before there is anything to say."""

    def dataset(self, name: str) -> DatasetStatus | None:
        """Returns the dataset called `name` (`schema.name`, any case), or None."""
        return next((dataset for dataset in self.datasets if dataset.name.casefold() == name.casefold()), None)

    def to_json(self) -> dict[str, Any]:
        """Returns the document of `status --json`."""
        return fields_to_json(self)


class StatusProjection(FlowProjection):
    """The status, kept up to date event by event in the order of the log. Not thread-safe.

    Shown are the datasets that the newest update defined; until it defines any (and when it failed
    before), those of the update before it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._history = UpdateHistory()
        self._counts = DatasetCounts()
        self._undeclared = UndeclaredDatasets()
        self._alerts = AlertProjection()
        self._cluster = ClusterProjection()

    @property
    def history(self) -> UpdateHistory:
        """The updates that led here."""
        return self._history

    def take(self, event: Event, fact: FlowFact | None) -> None:
        """As `apply`, for an event of which `FlowFacts` made `fact`."""
        self._history.take(event, fact)
        self._counts.take(event, fact)
        self._undeclared.apply(event)
        self._alerts.apply(event)
        self._cluster.apply(event)

    def status(self, *, writer_alive: bool | None = None) -> PipelineStatus:
        """Returns the status as of the last event.

        With `writer_alive=False` (no process holds the storage's lock) an update that the log leaves
        unfinished is shown as FAILED with UPDATE_INTERRUPTED; None and True believe the log.
        """
        update = self._history.current
        if update is not None and writer_alive is False:
            update = update.interrupted()
        over = update is not None and update.state.terminal
        flows, checks = self._counts.flows(), self._counts.checks()
        cluster = None if over else self._cluster.status()
        stalled = cluster is not None and cluster.stalled
        datasets = tuple(
            self._dataset(name, flows[name], checks[name], over=over, stalled=stalled) for name in self._counts.shown()
        )
        return PipelineStatus(update, datasets, self._undeclared.names, self._alerts.firing(), cluster=cluster)

    def _dataset(
        self, name: str, flows: list[FlowCounts], checks: list[CheckCounts], *, over: bool, stalled: bool
    ) -> DatasetStatus:
        definition = self._counts.definition(name)
        kind = definition.get("dataset_type")
        batches = [flow.last for flow in flows if flow.last is not None]
        newest = max((flow for flow in flows if flow.last_at is not None), key=_batch_time, default=None)
        warned = next((flow for flow in flows if flow.watermark_warning is not None), None)
        stored = kind != "VIEW"
        return DatasetStatus(
            name=str(definition.get("dataset") or name),
            type=None if kind is None else str(kind),
            status=_most_significant(flows, over=over),
            rows=sum(flow.rows for flow in flows) if stored else None,
            dropped=sum(flow.dropped for flow in flows) if stored else None,
            quarantined=sum(flow.quarantined for flow in flows) if stored else None,
            late=sum(flow.late for flow in flows) if stored else None,
            input_rows_per_second=None if stalled else _rate(flows, "input_rows_per_second"),
            processed_rows_per_second=None if stalled else _rate(flows, "processed_rows_per_second"),
            watermark=min((batch.watermark for batch in batches if batch.watermark is not None), default=None),
            lag=Lag.of(batches),
            state_rows=sum_known(batch.state_rows for batch in batches),
            last_batch_duration_ms=newest.last.batch_duration_ms if newest and newest.last else None,
            last_batch_at=newest.last_at if newest else None,
            error=next((flow.error for flow in flows if flow.error is not None), None),
            error_since=min(
                (flow.failing_since for flow in flows if flow.error is not None and flow.failing_since is not None),
                default=None,
            ),
            retry_at=None
            if over
            else min((flow.retry_at for flow in flows if flow.retry_at is not None), default=None),
            accounts=AccountCounts.sum(flow.accounts for flow in flows) if stored else None,
            watermark_warning=None if warned is None else warned.watermark_warning,
            watermark_warning_since=None if warned is None else warned.watermark_warning_since,
            state_warning=next((warning for flow in flows if (warning := _with_size(flow)) is not None), None),
            expectations=tuple(
                ExpectationStatus(check.name, check.passed, check.failed, check.action) for check in checks
            ),
        )


def project_status(events: Iterable[Event], *, writer_alive: bool | None = None) -> PipelineStatus:
    """Returns the status of `events`, which are in the order of the log; see `StatusProjection`."""
    projection = StatusProjection()
    for event in events:
        projection.apply(event)
    return projection.status(writer_alive=writer_alive)


STATUS_PRECEDENCE = (
    FlowStatus.FAILED,
    FlowStatus.RETRYING,
    FlowStatus.RUNNING,
    FlowStatus.STARTING,
    FlowStatus.PLANNING,
    FlowStatus.QUEUED,
    FlowStatus.IDLE,
    FlowStatus.STOPPED,
    FlowStatus.SKIPPED,
    FlowStatus.COMPLETED,
    FlowStatus.EXCLUDED,
)
"""States of flows, the one that matters most first."""


def _most_significant(flows: Iterable[FlowCounts], *, over: bool) -> FlowStatus | None:
    found = {
        FlowStatus.STOPPED if over and not flow.status.terminal else flow.status
        for flow in flows
        if flow.status is not None
    }
    return next((status for status in STATUS_PRECEDENCE if status in found), None)


def _rate(flows: Iterable[FlowCounts], field_name: str) -> float | None:
    rates: list[float] = []
    for flow in flows:
        if flow.status is FlowStatus.IDLE:
            rates.append(0.0)
        elif flow.current is not None and (rate := getattr(flow.current, field_name)) is not None:
            rates.append(rate)
    return round(sum(rates), 3) if rates else None


def _with_size(flow: FlowCounts) -> Mapping[str, Any] | None:
    """Returns the warning that a flow's state grows for ever, with the size after its newest batch."""
    if flow.unbounded is None or (size := flow.state.size) is None:
        return flow.unbounded
    facts = {**(mapping(flow.unbounded, "facts") or {}), "size": f"It has {size.describe()}."}
    return {
        **flow.unbounded,
        "message": fill(condition(str(flow.unbounded["condition"])).message, facts),
        "facts": facts,
    }


def _batch_time(flow: FlowCounts) -> datetime:
    assert flow.last_at is not None
    return flow.last_at
