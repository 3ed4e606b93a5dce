"""The production checklist: each rule of the catalogue as pass, fail or not applicable, with its evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from penstock.care.doctor.catalogue import rules
from penstock.care.doctor.checks import cost, monitoring, performance, quality, reliability, security, state
from penstock.care.doctor.checks.outcome import (
    NO_TABLE,
    NO_UPDATE,
    Check,
    Fault,
    NotApplicable,
    Outcome,
    Passed,
    counted,
)
from penstock.care.doctor.facts import StorageFacts
from penstock.care.finding import Finding, Measured, Rule
from penstock.observe.numbers import byte_size

CHECKS: Final[Mapping[str, Check]] = {
    name: check
    for module in (reliability, quality, performance, state, cost, security, monitoring)
    for name, check in module.CHECKS.items()
}
"""What judges each rule by numbers and settings, by its name; the others are conditions that `rules.py` finds."""


class Status(Enum):
    """What a check says."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line of the checklist.

    Attributes:
        rule: what was checked.
        status: what came of it.
        evidence: what was seen, or why it does not apply; of a failed check with several findings their number.
        measured: the numbers behind it, of a check that passed.
        findings: what is wrong.
    """

    rule: Rule
    status: Status
    evidence: str
    measured: Measured
    findings: tuple[Finding, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns one element of `checks` of `doctor --json`."""
        return {
            "rule": self.rule.name,
            "group": self.rule.group,
            "severity": self.rule.severity.value,
            "status": self.status.value,
            "evidence": self.evidence,
            "measured": dict(self.measured),
            "why": self.rule.why,
            "fix": self.rule.fix,
            "commands": list(dict.fromkeys(command for each in self.findings for command in each.commands)),
            "findings": [each.to_json() for each in self.findings],
        }


def checklist(facts: StorageFacts, found: Iterable[Finding]) -> tuple[CheckResult, ...]:
    """Returns the result of each rule in the order of the catalogue; `found` are the conditions that were found."""
    by_rule: dict[str, list[Finding]] = {}
    for finding in found:
        by_rule.setdefault(finding.rule.name, []).append(finding)
    return tuple(_result(rule, facts, by_rule.get(rule.name, [])) for rule in rules().values())


def _result(rule: Rule, facts: StorageFacts, found: list[Finding]) -> CheckResult:
    if found:
        return _failed(rule, found)
    outcome = CHECKS[rule.name](facts) if rule.name in CHECKS else _PASSED[rule.name](facts)
    match outcome:
        case Passed():
            return CheckResult(rule, Status.PASS, outcome.evidence, outcome.measured)
        case NotApplicable():
            return CheckResult(rule, Status.NOT_APPLICABLE, outcome.reason, {})
        case faults:
            return _failed(rule, [_finding(rule, fault) for fault in faults])


def _failed(rule: Rule, found: list[Finding]) -> CheckResult:
    evidence = found[0].evidence if len(found) == 1 else counted(len(found), "finding")
    return CheckResult(rule, Status.FAIL, evidence, found[0].measured if len(found) == 1 else {}, tuple(found))


def _finding(rule: Rule, fault: Fault) -> Finding:
    return Finding(
        rule,
        fault.place,
        fault.evidence,
        edit=fault.edit,
        measured=fault.measured,
        since=fault.since,
        commands=fault.commands,
    )


def _checkpoints(facts: StorageFacts) -> Outcome:
    checked = facts.verification.checked
    return Passed(f"{counted(len(checked), 'checkpoint')} whole") if checked else NotApplicable("There is none yet.")


def _tables(facts: StorageFacts) -> Outcome:
    return Passed(f"{counted(len(facts.tables), 'table')} with all data files") if facts.tables else NO_TABLE


def _disk(facts: StorageFacts) -> Outcome:
    if facts.disk is None:
        return NotApplicable("The storage is not on a local disk.")
    return Passed(f"{byte_size(facts.disk.free)} free", {"free_bytes": facts.disk.free})


def _resources(facts: StorageFacts) -> Outcome:
    if not facts.processes:
        return NotApplicable("No run works on this machine now.")
    most = max(facts.processes, key=lambda each: each.descriptors)
    return Passed(f"{most.name} has {most.descriptors:,} descriptors and {most.threads:,} threads")


def _state(facts: StorageFacts) -> Outcome:
    return Passed("no join keeps its rows for ever") if facts.history.updates else NO_UPDATE


def _jars(facts: StorageFacts) -> Outcome:
    if not facts.jars_checked:
        return NotApplicable("The jars of the user who runs the pipeline were not looked at.")
    return Passed("the jars of this user's cache are as they were locked")


def _registration(facts: StorageFacts) -> Outcome:
    catalogs = () if facts.settings is None else facts.settings.catalogs
    if not catalogs:
        return NotApplicable("The pipeline file declares no catalogs.")
    if not facts.jars_checked:
        return NotApplicable("The catalogs were not asked.")
    return Passed(f"the tables are registered in {', '.join(catalogs)}")


_PASSED: Final[Mapping[str, Callable[[StorageFacts], Outcome]]] = {
    "checkpoints-sound": _checkpoints,
    "tables-readable": _tables,
    "version-not-later": lambda facts: Passed(f"no version later than {facts.own_version} has written it"),
    "disk-space": _disk,
    "lock-held": lambda facts: Passed("no run has left its lock" if facts.holder is None else "its run is alive"),
    "run-resources": _resources,
    "jars-unchanged": _jars,
    "tables-registered": _registration,
    "tables-declared": lambda facts: Passed("each stored table is declared") if facts.tables else NO_TABLE,
    "state-bounded": _state,
    "event-log-readable": lambda _facts: Passed("each line of the event log can be read"),
}
"""What a rule says of which no condition was found."""
