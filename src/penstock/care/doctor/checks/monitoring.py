"""Monitoring: does somebody notice when the pipeline fails, stalls or falls behind?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.care.doctor.checks.outcome import (
    NO_ROW,
    NO_UPDATE,
    Check,
    Fault,
    NotApplicable,
    Outcome,
    Passed,
    counted,
    judged,
    keeps_going,
    of_settings,
)
from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.settings import SettingsFacts
from penstock.care.finding import SettingEdit, Subject


def _alerts_configured(_facts: StorageFacts, settings: SettingsFacts) -> Outcome:
    if settings.watched:
        return Passed(f"alerts for {', '.join(settings.watched)}")
    edit = SettingEdit(("alerts", "tables", "*"), {"falling_behind": "10 minutes"})
    return [Fault(Subject("setting", "alerts.tables"), f"{settings.file} declares no alert", edit=edit)]


def _alerts_have_destination(_facts: StorageFacts, settings: SettingsFacts) -> Outcome:
    if settings.destinations:
        return Passed(f"alerts go to {', '.join(settings.destinations)}")
    if settings.metrics:
        return Passed(f"metrics go to {', '.join(settings.metrics)}, where rules can raise alerts")
    return [Fault(Subject("setting", "alerts.destinations"), "nobody is notified: no destination, and no metrics")]


def _alerts_delivered(facts: StorageFacts) -> Outcome:
    if not facts.history.updates:
        return NO_UPDATE
    faults = [
        Fault(
            Subject("destination", name),
            f"{name} did not take the newest alert",
            commands=("penstock alerts check",),
            since=at,
        )
        for name, at in facts.history.undelivered.items()
    ]
    return judged(faults, "each alert that was sent was taken")


def _metrics_published(facts: StorageFacts, settings: SettingsFacts) -> Outcome:
    if settings.metrics:
        return Passed(f"metrics go to {', '.join(settings.metrics)}")
    if not keeps_going(facts, settings):
        return NotApplicable("A run stops when it is done: its numbers are in the event log.")
    return [Fault(Subject("setting", "metrics"), "a continuous run publishes no metrics")]


def _numbers_recorded(facts: StorageFacts) -> Outcome:
    flows = [each for each in facts.history.flows if each.with_rows]
    if not flows:
        return NO_ROW
    faults = [
        Fault(Subject("flow", each.name), "its batches have no processing rate in the event log")
        for each in flows
        if all(one.progress.processed_rows_per_second is None for one in each.with_rows)
    ]
    return judged(faults, f"lag, rates, state and durations of {counted(len(flows), 'flow')} are in the event log")


CHECKS: Final[Mapping[str, Check]] = {
    "alerts-configured": of_settings(_alerts_configured),
    "alerts-have-destination": of_settings(_alerts_have_destination),
    "alerts-delivered": _alerts_delivered,
    "metrics-published": of_settings(_metrics_published),
    "numbers-recorded": _numbers_recorded,
}
