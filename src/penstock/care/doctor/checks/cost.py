"""Cost: is something paid for that does no work?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.care.doctor.checks.outcome import (
    NO_UPDATE,
    Check,
    Fault,
    NotApplicable,
    Outcome,
    Passed,
    judged,
    of_settings,
)
from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.settings import SettingsFacts
from penstock.care.finding import Subject
from penstock.observe.numbers import duration_ms

_IDLE: Final = 0.2
_LONG: Final = 600.0
_DYNAMIC: Final = "spark.dynamicAllocation"


def _compute_busy(facts: StorageFacts) -> Outcome:
    update = next((each for each in facts.history.updates if each.continuous), None)
    if update is None:
        return (
            NO_UPDATE if not facts.history.updates else NotApplicable("No run has kept going: each stopped when done.")
        )
    known = facts.history.busy(update)
    if known is None or known[1] < _LONG:
        return NotApplicable(f"The newest continuous run has not been observed for {duration_ms(1000 * _LONG)}.")
    worked, total = known
    share = worked / total
    numbers = {"busy_percent": round(100 * share, 1), "seconds": round(total)}
    text = f"batches with rows worked {share:.0%} of {duration_ms(1000 * total)}"
    faults = [Fault(Subject("setting", "trigger"), text, numbers)] if share < _IDLE else []
    return judged(faults, text, **numbers)


def _executors_bounded(_facts: StorageFacts, settings: SettingsFacts) -> Outcome:
    if settings.local:
        return NotApplicable(f"There are no executors (master {settings.master}).")
    if settings.conf.get(f"{_DYNAMIC}.enabled", "false").casefold() != "true":
        return Passed("dynamic allocation is off: a fixed number of executors")
    most = settings.conf.get(f"{_DYNAMIC}.maxExecutors")
    if most is None:
        return [Fault(Subject("setting", f"{_DYNAMIC}.maxExecutors"), "dynamic allocation has no upper bound")]
    return Passed(f"dynamic allocation of at most {most} executors")


def _events_bounded(_facts: StorageFacts, settings: SettingsFacts) -> Outcome:
    if settings.event_log_retention is None:
        return [Fault(Subject("setting", "event_log.retention"), "all events are kept for ever")]
    return Passed(f"events are kept for {settings.event_log_retention / 86_400:,.0f} days, then as totals")


CHECKS: Final[Mapping[str, Check]] = {
    "compute-busy": _compute_busy,
    "executors-bounded": of_settings(_executors_bounded),
    "events-bounded": of_settings(_events_bounded),
}
