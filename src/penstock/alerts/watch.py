"""Follows the event log of a pipeline and finds what is wrong with it, and what is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from penstock.alerts.finding import Finding
from penstock.alerts.rules import all_rules, expectations
from penstock.config import ALL_TABLES, AlertSettings
from penstock.errors import ConfigError, StateError, did_you_mean
from penstock.events import Event, EventType, UpdateState
from penstock.events.flows.facts import FlowFacts, details_of, flow_key
from penstock.graph.identifier import names_of_recorded

_DEFINITIONS = {EventType.DATASET_DEFINITION, EventType.SINK_DEFINITION, EventType.FLOW_DEFINITION}


class Watch:
    """All rules over one log, kept up to date event by event. Not thread-safe."""

    def __init__(self, settings: AlertSettings) -> None:
        self._settings = settings
        self._facts = FlowFacts()
        self._rules = [rule(settings) for rule in all_rules()]
        self._declared = _Declared()
        self._before = _Declared()
        self._unfinished: Event | None = None

    def apply(self, event: Event) -> None:
        """Takes one event into account."""
        if not event.event_type.of_its_update:
            return
        if event.event_type in _DEFINITIONS:
            self._define(event)
        elif is_running(event):
            self._before = _Declared()
        self._unfinished = None if _is_over(event) else event
        fact = self._facts.apply(event)
        for rule in self._rules:
            rule.apply(event, fact)

    def run_is_gone(self) -> None:
        """No process runs the pipeline: an update that the log leaves unfinished has failed with its last event."""
        last = self._unfinished
        if last is None:
            return
        error = StateError("UPDATE_INTERRUPTED", update_id=last.origin.update_id)
        self.apply(
            replace(
                last,
                event_type=EventType.UPDATE_PROGRESS,
                message=error.message,
                details={EventType.UPDATE_PROGRESS.value: {"state": UpdateState.FAILED.value}},
                error=error.to_json(),
            )
        )

    def findings(self, now: datetime) -> list[Finding]:
        """Returns what holds at `now` of the datasets and flows that the newest update defines.

        Until it has defined them all, those of the update before count as well.
        """
        return [
            finding
            for rule in self._rules
            for finding in rule.findings(now)
            if self._declared.has(finding) or self._before.has(finding)
        ]

    def unknown_tables(self) -> list[ConfigError]:
        """Returns an error for each entry of `alerts.tables` that is no dataset of the newest update."""
        return list(self._unknown()) if self._declared.datasets else []

    def _unknown(self) -> Iterator[ConfigError]:
        known = self._declared.datasets
        names = {entry for name in known for entry in names_of_recorded(name)}
        for table in self._settings.tables:
            if table != ALL_TABLES and table.casefold() not in names:
                near = did_you_mean(table, known.values(), also=f"Known: {', '.join(known.values())}.")
                yield ConfigError("ALERT_TABLE_UNKNOWN", table=table, suggestion=near)

    def _define(self, event: Event) -> None:
        if event.origin.update_id != self._declared.update_id:
            self._before, self._declared = self._declared, _Declared(event.origin.update_id)
        details = details_of(event)
        if event.event_type is EventType.FLOW_DEFINITION:
            self._declared.flows.add(flow_key(str(details.get("output_dataset")), str(event.origin.flow_name)))
        else:
            name = str(details.get("dataset"))
            self._declared.datasets[name.casefold()] = name


@dataclass(slots=True)
class _Declared:
    """What one update defines; `datasets` by their names in lower case."""

    update_id: str | None = None
    datasets: dict[str, str] = field(default_factory=dict)
    flows: set[tuple[str, str]] = field(default_factory=set)

    def has(self, finding: Finding) -> bool:
        if finding.dataset is None:
            return True
        if finding.dataset.casefold() not in self.datasets:
            return False
        if finding.subject is None or finding.rule == expectations.RULE:
            return True
        return flow_key(finding.dataset, finding.subject) in self.flows


def _is_over(event: Event) -> bool:
    states = {state.value for state in UpdateState if state.terminal}
    return event.event_type is EventType.UPDATE_PROGRESS and details_of(event).get("state") in states


def is_running(event: Event) -> bool:
    """Whether an update has begun to run its flows."""
    state = details_of(event).get("state")
    return event.event_type is EventType.UPDATE_PROGRESS and state == UpdateState.RUNNING.value


def watch_over(events: Iterable[Event], settings: AlertSettings) -> Watch:
    """Returns the watch after `events`, in the order of the log."""
    watch = Watch(settings)
    for event in events:
        watch.apply(event)
    return watch
