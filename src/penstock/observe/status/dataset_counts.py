"""The running totals behind a status: rows, drops and expectation counts per flow and dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final

from penstock.events import (
    BatchProgress,
    Event,
    EventType,
    FlowStatus,
    WatermarkState,
    late_rows_of_event,
    reprocessed_rows_of,
    watermark_state_of,
)
from penstock.events.codec import fields_to_json, json_ready
from penstock.events.details import mapping, mappings, moment, total
from penstock.events.flows.compaction import SummedProjection, totals_of
from penstock.events.flows.facts import FlowFact, details_of, flow_key
from penstock.events.flows.state_size import StateGrowth
from penstock.graph.unbounded_state import STREAM_JOIN, UNBOUNDED_STATE
from penstock.observe.status.accounting import AccountCounts

_SAME_IN_TOTALS: Final = (
    *("rows", "dropped", "quarantined", "late"),
    *("error", "failing_since", "watermark_warning", "watermark_warning_since"),
)
_WORKS: Final = {FlowStatus.COMPLETED, FlowStatus.IDLE}
_STATES: Final = {status.value for status in FlowStatus}


@dataclass(slots=True)
class CheckCounts:
    """Rows that met and broke one expectation."""

    name: str
    action: str
    passed: int = 0
    failed: int = 0


@dataclass(slots=True)
class FlowCounts:
    """One flow's totals; `last` is its newest batch, `current` the same if this update made it.

    `watermark_warning` is the warning about a stalled watermark, `state` how much state the newest batches kept, and
    `unbounded` the newest update's warning that it grows for ever. `failing_since` is the first error without a batch
    after it, over restarts and updates.
    """

    status: FlowStatus | None = None
    rows: int = 0
    dropped: int = 0
    quarantined: int = 0
    late: int = 0
    checks: dict[tuple[str, str], CheckCounts] = field(default_factory=dict)
    last: BatchProgress | None = None
    last_at: datetime | None = None
    current: BatchProgress | None = None
    accounts: AccountCounts = field(default_factory=AccountCounts)
    error: Mapping[str, Any] | None = None
    failing_since: datetime | None = None
    watermark_warning: Mapping[str, Any] | None = None
    watermark_warning_since: datetime | None = None
    retry_at: datetime | None = None
    state: StateGrowth = field(default_factory=StateGrowth)
    unbounded: Mapping[str, Any] | None = None

    def reset(self) -> None:
        """Forgets all batches, as a full refresh does."""
        self.rows = self.dropped = self.quarantined = self.late = 0
        self.checks.clear()
        self.accounts = AccountCounts()
        self.state = StateGrowth()
        self.last = self.current = self.last_at = self.watermark_warning = None

    def note(self, event: Event) -> None:
        """Takes an event about the flow into account that is not one of its progress."""
        self.accounts.add(event)
        if (late := late_rows_of_event(event)) is not None and late.kept is not None:
            self.late += late.kept - (late.counted or 0)  # the rows that were found, not those that Spark has counted
        if rows := reprocessed_rows_of(event):
            self.late = max(self.late - rows, 0)
        if (state := watermark_state_of(event)) is not None:
            self.watermark_warning = None if state is WatermarkState.MOVING else event.error
            self.watermark_warning_since = event.timestamp

    def totals(self) -> dict[str, Any]:
        """Returns JSON-ready sums over all batches, for `take_totals`."""
        checks = [{"dataset": dataset, **asdict(check)} for (dataset, _), check in self.checks.items()]
        accounts = fields_to_json(self.accounts)
        same = {name: json_ready(getattr(self, name)) for name in _SAME_IN_TOTALS}
        return {**same, "expectations": checks, "accounts": accounts, "state": json_ready(self.status)}

    def take_totals(self, totals: Mapping[str, Any]) -> None:
        """Puts sums over batches that the log no longer has in the place of those that were made."""
        self.rows, self.dropped = total(totals, "rows"), total(totals, "dropped")
        self.quarantined, self.late = total(totals, "quarantined"), total(totals, "late")
        self.checks = {
            flow_key(str(check.get("dataset")), str(check.get("name"))): CheckCounts(
                str(check.get("name")), str(check.get("action")), total(check, "passed"), total(check, "failed")
            )
            for check in mappings(totals, "expectations")
        }
        accounts = mapping(totals, "accounts") or {}
        self.accounts = AccountCounts(
            total(accounts, "balanced"),
            total(accounts, "broken"),
            total(accounts, "not_checkable"),
            mapping(accounts, "error"),
            moment(accounts, "broken_since"),
        )
        self.failing_since = moment(totals, "failing_since")
        self.watermark_warning = mapping(totals, "watermark_warning")
        self.watermark_warning_since = moment(totals, "watermark_warning_since")
        self.status = FlowStatus(totals["state"]) if str(totals.get("state")) in _STATES else None
        self.error = mapping(totals, "error")

    def add(self, progress: BatchProgress, sign: int = 1) -> None:
        """Adds a batch's numbers, or with `sign=-1` takes them back."""
        self.rows += sign * progress.num_output_rows
        self.dropped += sign * progress.dropped_records
        self.quarantined += sign * progress.quarantined_records
        self.late += sign * (progress.late_rows or 0)
        for count in progress.expectations:
            key = flow_key(count.dataset, count.name)
            check = self.checks.setdefault(key, CheckCounts(count.name, count.action))
            check.action = count.action
            check.passed += sign * count.passed_records
            check.failed += sign * count.failed_records


class DatasetCounts(SummedProjection):
    """All datasets of a log. Names compare without regard to case; not thread-safe."""

    PART = "status"

    def __init__(self) -> None:
        super().__init__()
        self._definitions: dict[str, Mapping[str, Any]] = {}
        self._flows: dict[tuple[str, str], FlowCounts] = {}
        self._update_id: str | None = None
        self._defined: dict[str, None] = {}
        self._defined_by: str | None = None

    def take(self, event: Event, fact: FlowFact | None) -> None:
        """As `apply`, for an event of which `FlowFacts` made `fact`."""
        for key, totals in totals_of(event, self.PART):
            flow = self._flows.pop(key, FlowCounts())
            flow.take_totals(totals)
            self._flows[key] = flow  # in the order of all events, not of those that are left
        if not event.event_type.of_its_update:
            return
        if event.origin.update_id != self._update_id:
            self._update_id = event.origin.update_id
            for each in self._flows.values():
                each.status = each.error = each.current = each.retry_at = None
        match event.event_type:
            case EventType.DATASET_DEFINITION | EventType.SINK_DEFINITION:
                self._define(details_of(event))
            case EventType.ACCOUNTING | EventType.LATE_ROWS | EventType.WATERMARK if (
                event.origin.dataset_name is not None
            ):
                key = flow_key(event.origin.dataset_name, event.origin.flow_name or event.origin.dataset_name)
                self._flows.setdefault(key, FlowCounts()).note(event)
            case _ if event.error is not None and event.error.get("condition") == UNBOUNDED_STATE[STREAM_JOIN]:
                self._flow_of_warning(event.error).unbounded = event.error
            case _ if fact is not None:
                self._progress(event, fact)

    def _flow_of_warning(self, warning: Mapping[str, Any]) -> FlowCounts:
        dataset = str(warning.get("dataset"))
        flow = (mapping(warning, "facts") or {}).get("flow", dataset)
        return self._flows.setdefault(flow_key(dataset, str(flow)), FlowCounts())

    def totals(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Returns of each flow its totals for a `compaction` event."""
        return {key: flow.totals() for key, flow in self._flows.items()}

    def shown(self) -> tuple[str, ...]:
        """Returns the keys of the datasets that the newest update with definitions defined."""
        if self._defined:
            return tuple(self._defined)
        return tuple(dict.fromkeys(dataset for dataset, _ in self._flows))

    def definition(self, dataset: str) -> Mapping[str, Any]:
        """Returns the newest `dataset_definition` or `sink_definition` details; empty when the log has none."""
        return self._definitions.get(dataset, {})

    def flows(self) -> dict[str, list[FlowCounts]]:
        """Returns by dataset the totals of the flows into it, in the order of their first event."""
        found: dict[str, list[FlowCounts]] = {dataset: [] for dataset in self.shown()}
        for (target, _), flow in self._flows.items():
            found.setdefault(target, []).append(flow)
        return found

    def checks(self) -> dict[str, list[CheckCounts]]:
        """Returns by dataset its expectations with the sums over all flows that check them.

        Those of a view are checked by the flows that read the view. Expectations that are no
        longer declared are left out.
        """
        found = {dataset: self._declared_checks(dataset) for dataset in self.shown()}
        for flow in self._flows.values():
            for (owner, name), check in flow.checks.items():
                totals = found.get(owner)
                if totals is None or ("expectations" in self.definition(owner) and name not in totals):
                    continue
                total = totals.setdefault(name, CheckCounts(check.name, check.action))
                total.passed += check.passed
                total.failed += check.failed
        return {dataset: list(totals.values()) for dataset, totals in found.items()}

    def _declared_checks(self, dataset: str) -> dict[str, CheckCounts]:
        declared = [(str(each.get("name")), each) for each in _expectations(self.definition(dataset))]
        return {name.casefold(): CheckCounts(name, str(each.get("action") or "warn")) for name, each in declared}

    def _define(self, definition: Mapping[str, Any]) -> None:
        name = definition.get("dataset")
        if not isinstance(name, str):
            return
        key = name.casefold()
        if self._defined_by != self._update_id:
            self._defined_by, self._defined = self._update_id, {}
            for flow in self._flows.values():
                flow.unbounded = None  # the update reports it behind its definitions
        self._defined[key] = None
        before = {e.get("name"): e.get("constraint") for e in _expectations(self._definitions.get(key))}
        self._definitions[key] = definition
        for expectation in _expectations(definition):
            rule = expectation.get("name")
            if rule in before and before[rule] != expectation.get("constraint"):
                for flow in self._flows.values():  # another rule under the same name: counts start again
                    flow.checks.pop((key, str(rule).casefold()), None)

    def _progress(self, event: Event, fact: FlowFact) -> None:
        key = flow_key(fact.dataset, fact.flow)
        if fact.after_full_refresh:
            for other in self.flows().get(key[0], ()):
                other.reset()
        flow = self._flows.setdefault(key, FlowCounts())
        if fact.dataset.casefold() not in self._definitions:
            self._definitions[key[0]] = {"dataset": fact.dataset}
        flow.status = fact.status or flow.status
        flow.retry_at = fact.retry_at
        if event.error is not None:
            flow.error = event.error
            flow.failing_since = flow.failing_since or event.timestamp
        elif fact.status in {FlowStatus.RUNNING, FlowStatus.COMPLETED, FlowStatus.IDLE}:
            flow.error = None
        if event.error is None and (fact.progress is not None or fact.status in _WORKS):
            flow.failing_since = None
        if fact.progress is None:
            return
        if fact.replaces:
            flow.rows = flow.dropped = flow.quarantined = flow.late = 0
            flow.checks.clear()
            flow.accounts = AccountCounts()
        elif fact.repeats and flow.last is not None:
            flow.add(flow.last, sign=-1)
        flow.add(fact.progress)
        flow.last = flow.current = fact.progress
        flow.state.add(fact.timestamp, fact.progress)
        flow.last_at = fact.timestamp


def _expectations(definition: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    return list(mappings(definition or {}, "expectations"))
