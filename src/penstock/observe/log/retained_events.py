"""Which events of an old part of the log stay when it is compacted: what totals cannot replace."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from penstock.events.flows.accounting import Verdict, verdict_of
from penstock.events.flows.facts import FlowFact, details_of, flow_key
from penstock.events.flows.refresh import refresh_choice_of
from penstock.events.types import BatchProgress, Event, EventType, FlowStatus

NEWEST: Final = 10
"""Of each flow, so many batches, batches with rows, and accounts of each verdict stay: no rule looks back further."""

_ALWAYS: Final = {EventType.USER_ACTION, EventType.ALERT, EventType.ALERT_DELIVERY}
_DEFINITIONS: Final = {EventType.DATASET_DEFINITION, EventType.SINK_DEFINITION, EventType.FLOW_DEFINITION}
_OPENINGS: Final = {
    EventType.CREATE_UPDATE: EventType.CREATE_UPDATE,
    EventType.DATASET_DEFINITION: EventType.DATASET_DEFINITION,
    EventType.SINK_DEFINITION: EventType.DATASET_DEFINITION,
    EventType.FLOW_DEFINITION: EventType.FLOW_DEFINITION,
}
"""What an update begins with, by what of the update before it takes the place of."""

_WORKS: Final = {FlowStatus.COMPLETED, FlowStatus.IDLE}

Key = tuple[str, str]


def _newest() -> deque[Any]:
    return deque(maxlen=NEWEST)


@dataclass(slots=True)
class _OfFlow:
    """The numbers of the lines of one flow that stay."""

    batches: deque[list[int]] = field(default_factory=_newest)
    newest_id: int = -1
    fed: deque[list[int]] = field(default_factory=_newest)
    accounts: defaultdict[Verdict | None, deque[int]] = field(default_factory=lambda: defaultdict(_newest))
    broken_since: int | None = None
    late: deque[int] = field(default_factory=_newest)
    refreshes: deque[int] = field(default_factory=_newest)
    watermark: int | None = None
    not_measured: int | None = None
    worked: int | None = None
    newest: int | None = None
    failing: list[int] = field(default_factory=list)

    def add_batch(self, line: int, progress: BatchProgress, *, repeats: bool) -> None:
        """Takes a batch; one that Spark did again stays with all of its repetitions, or goes with them.

        After a reset or a rewind the batch before stays too: side by side, two of one number would be a repetition.
        """
        if repeats and self.batches:
            self.batches[-1].append(line)
        else:
            goes_back = self.batches and progress.batch_id <= self.newest_id
            self.batches.append([self.batches[-1][-1], line] if goes_back else [line])
        self.newest_id = progress.batch_id
        if progress.num_input_rows and not repeats:
            self.fed.append(self.batches[-1])

    def lines(self) -> Iterable[int]:
        singles = (self.watermark, self.not_measured, self.worked, self.newest, self.broken_since)
        known = [each for each in singles if each is not None]
        several = (*self.batches, *self.fed, *self.accounts.values(), self.late, self.refreshes, self.failing)
        return [*chain.from_iterable(several), *known]


class RetainedEvents:
    """Takes each event of the old part in the order of the log, with the number of its line.

    What stays, besides what each flow did last: what people did, with the hash chain as it is; alerts and their
    deliveries; each definition that differs from the one before it; the last full refresh of each dataset; what the
    newest update began with, which may go on; and the first event, whose id is the log's own.
    """

    def __init__(self) -> None:
        self._always: set[int] = set()
        self._flows: defaultdict[Key, _OfFlow] = defaultdict(_OfFlow)
        self._definitions: dict[tuple[EventType, str, str], Mapping[str, Any]] = {}
        self._refreshes: dict[str, set[int]] = {}
        self._created = 0
        self._openings: dict[EventType, tuple[str, set[int]]] = {}
        self._planned: set[int] = set()
        self._cluster: set[int] = set()
        self._newest: set[int] = set()
        self._begun = False

    def lines(self) -> set[int]:
        """Returns the numbers of the lines that stay."""
        opening = (lines for _, lines in self._openings.values())
        flows = (flow.lines() for flow in self._flows.values())
        refreshes = self._refreshes.values()
        return self._always.union(self._planned, self._cluster, self._newest, *opening, *refreshes, *flows)

    def keep(self, line: int) -> None:
        """Keeps a line that this version cannot read."""
        self._always.add(line)

    def take(self, line: int, event: Event, fact: FlowFact | None) -> None:
        """Takes the next event into account, of which `FlowFacts` made `fact`."""
        if not self._begun or event.event_type in _ALWAYS or self._defines(event):
            self._always.add(line)
        self._begun = True
        if event.event_type is EventType.CREATE_UPDATE:
            self._created, self._cluster = line, set()
        elif event.event_type is EventType.CLUSTER_RESOURCES:
            self._cluster = {line}
        self._open(line, event)
        dataset = event.origin.dataset_name
        if dataset is None:
            return
        flow = self._flows[flow_key(dataset, event.origin.flow_name or dataset)]
        match event.event_type:
            case EventType.ACCOUNTING:
                verdict = verdict_of(event)
                flow.accounts[verdict].append(line)
                if verdict is Verdict.BALANCED:
                    flow.broken_since = None
                elif verdict is Verdict.BROKEN and flow.broken_since is None:
                    flow.broken_since = line
            case EventType.LATE_ROWS:
                flow.late.append(line)
            case EventType.PLANNING_INFORMATION if refresh_choice_of(event) is not None:
                flow.refreshes.append(line)
            case EventType.WATERMARK:
                flow.watermark = line
            case EventType.FLOW_PROGRESS if fact is not None:
                self._progressed(line, event, fact, flow)

    def _open(self, line: int, event: Event) -> None:
        if event.event_type.of_its_update:
            self._newest = {line}
        if event.event_type in _OPENINGS:
            kind, update = _OPENINGS[event.event_type], event.origin.update_id
            if self._openings.get(kind, ("", ()))[0] != update:
                self._openings[kind] = update, set()
            self._openings[kind][1].add(line)
        elif event.event_type is EventType.PLANNING_INFORMATION and refresh_choice_of(event) is None:
            self._planned = {line} if details_of(event).get("stages") else {*self._planned, line}

    def _defines(self, event: Event) -> bool:
        if event.event_type not in _DEFINITIONS:
            return False
        key = event.event_type, *flow_key(event.origin.dataset_name or "", event.origin.flow_name or "")
        details = details_of(event)
        differs = self._definitions.get(key) != details
        self._definitions[key] = details
        return differs

    def _progressed(self, line: int, event: Event, fact: FlowFact, flow: _OfFlow) -> None:
        flow.newest = line
        if fact.after_full_refresh:
            self._refreshes[fact.dataset.casefold()] = {self._created, line}
        if fact.progress is not None:
            flow.add_batch(line, fact.progress, repeats=fact.repeats)
        if fact.status in _WORKS:
            flow.worked = line
        if event.error is not None or fact.status is FlowStatus.FAILED:
            flow.failing[1:] = [line]
        elif fact.progress is not None or fact.status in _WORKS:
            flow.failing.clear()
        if fact.status is FlowStatus.STARTING:
            flow.not_measured = None
        elif "lateness_not_measured" in details_of(event):
            flow.not_measured = line
