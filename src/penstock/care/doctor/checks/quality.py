"""Data quality: is each row checked, counted, and early enough?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.care.doctor.checks.outcome import (
    NO_UPDATE,
    Check,
    Fault,
    NotApplicable,
    Outcome,
    counted,
    declared_at,
    judged,
)
from penstock.care.doctor.facts import StorageFacts
from penstock.care.finding import Subject
from penstock.graph.elements import STORED_TYPES
from penstock.observe.numbers import percent

_BROKEN_SHARE: Final = 0.05
_LATE_SHARE: Final = 0.01


def _expectations_declared(facts: StorageFacts) -> Outcome:
    tables = [each for each in facts.history.datasets.values() if each.type in STORED_TYPES]
    if not tables:
        return NO_UPDATE
    checked = [each for each in tables if each.rules]
    faults = []
    if not checked:
        place = declared_at(tables[0].location, "table", tables[0].name)
        faults = [Fault(place, f"none of {counted(len(tables), 'table')} has an expectation", {"tables": len(tables)})]
    rules = sum(len(each.rules) for each in checked)
    return judged(faults, f"{counted(rules, 'expectation')} on {len(checked)} of {counted(len(tables), 'table')}")


def _expectations_met(facts: StorageFacts) -> Outcome:
    counts = [
        (dataset, rule) for dataset in facts.datasets for rule in dataset.expectations if rule.passed + rule.failed
    ]
    if not counts:
        return NotApplicable("No expectation has checked a row yet.")
    faults = [
        Fault(
            Subject("table", dataset.name),
            f"{percent(rule.failed, rule.passed + rule.failed)} of the rows break {rule.name!r} ({rule.action})",
            {"failed": rule.failed, "checked": rule.passed + rule.failed},
            commands=("penstock status", *_quarantine(dataset.name, rule.action)),
        )
        for dataset, rule in counts
        if rule.failed > _BROKEN_SHARE * (rule.passed + rule.failed)
    ]
    failed, checked = sum(rule.failed for _, rule in counts), sum(rule.passed + rule.failed for _, rule in counts)
    return judged(
        faults, f"{counted(len(counts), 'expectation')}: {percent(checked - failed, checked)} of checks passed"
    )


def _quarantine(dataset: str, action: str) -> tuple[str, ...]:
    return (f"penstock quarantine show {dataset}",) if action == "quarantine" else ()


def _rows_add_up(facts: StorageFacts) -> Outcome:
    known = [(each, each.accounts) for each in facts.datasets if each.accounts is not None and each.accounts.batches]
    if not known:
        return NotApplicable("No batch has accounts yet.")
    faults = [
        Fault(
            Subject("table", each.name),
            str((accounts.error or {}).get("message") or f"{counted(accounts.broken, 'batch')} do not add up"),
            {"broken_batches": accounts.broken},
            since=accounts.broken_since,
        )
        for each, accounts in known
        if accounts.broken
    ]
    balanced = sum(accounts.balanced for _, accounts in known)
    return judged(faults, f"{counted(balanced, 'batch')} balanced: rows read = written + dropped + quarantined + late")


def _late_rows(facts: StorageFacts) -> Outcome:
    watched = [each for each in facts.history.flows if each.definition.watermark is not None and each.with_rows]
    if not watched:
        return NotApplicable("No flow with a watermark has read a row yet.")
    faults, all_late = list[Fault](), 0
    for flow in watched:
        column, delay = flow.definition.watermark or ("", "")
        read = sum(each.progress.num_input_rows for each in flow.batches)
        late = sum(each.progress.late_rows or 0 for each in flow.batches)
        all_late += late
        if late > _LATE_SHARE * read:
            place = declared_at(flow.definition.location, "flow", flow.name)
            evidence = (
                f"{percent(late, read)} of the rows of the last {counted(len(flow.batches), 'batch')} came more than "
                f"{delay} late by {column} and were dropped"
            )
            dataset = flow.definition.dataset
            commands = (f"penstock watermark {dataset}", f"penstock late show {dataset}")
            faults.append(Fault(place, evidence, {"late_rows": late, "rows_read": read}, commands=commands))
    return judged(faults, f"{counted(all_late, 'late row')} in the newest batches", late_rows=all_late)


CHECKS: Final[Mapping[str, Check]] = {
    "expectations-declared": _expectations_declared,
    "expectations-met": _expectations_met,
    "rows-add-up": _rows_add_up,
    "late-rows-few": _late_rows,
}
