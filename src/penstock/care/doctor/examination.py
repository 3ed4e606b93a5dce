"""Checks a storage and reports what is wrong with it; changes nothing, starts no JVM."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from penstock.care.doctor import rules
from penstock.care.doctor.checklist import CheckResult, checklist
from penstock.care.doctor.facts import StorageFacts, read_facts
from penstock.care.doctor.settings import SettingsFacts
from penstock.care.finding import Finding
from penstock.events.codec import fields_to_json
from penstock.observe.severity import Severity

_RULES: Final[tuple[Callable[[StorageFacts], Iterator[Finding]], ...]] = (
    rules.sound_checkpoints,
    rules.readable_tables,
    rules.earlier_version,
    rules.disk_space,
    rules.lock_holder,
    rules.run_resources,
    rules.readable_events,
    rules.declared_tables,
    rules.bounded_state,
)


@dataclass(frozen=True, slots=True)
class Examination:
    """What was checked, and what is wrong, errors first.

    Attributes:
        at: when it was checked.
        checkpoints: names of the flows whose checkpoints were.
        tables: full names of the tables that were.
        findings: what is wrong.
        running: whether a run works on the storage, whose files can look damaged meanwhile.
        checks: the production checklist, with these findings and all others.
    """

    at: datetime
    checkpoints: tuple[str, ...]
    tables: tuple[str, ...]
    findings: tuple[Finding, ...]
    running: bool
    checks: tuple[CheckResult, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns what `penstock doctor --json` prints."""
        return fields_to_json(self)


def examine(
    storage_uri: str, settings: SettingsFacts | None = None, *, also: Iterable[Finding] | None = None
) -> Examination:
    """Returns what is wrong with a storage; nothing when there is none yet.

    Args:
        storage_uri: The storage.
        settings: Those of its pipeline; without them the checks of settings do not apply.
        also: What is wrong with jars and the session's settings; None where that was not looked at.

    Raises:
        ConfigError: STORAGE_NOT_READABLE, STORAGE_SCHEME_UNSUPPORTED.
    """
    return examination_of(read_facts(storage_uri, settings), also=also)


def examination_of(facts: StorageFacts, *, also: Iterable[Finding] | None = None) -> Examination:
    """As `examine`, of a storage that was read already."""
    facts = replace(facts, jars_checked=also is not None)
    findings = _errors_first([*(also or ()), *findings_of(facts)])
    return Examination(
        at=datetime.now(UTC),
        checkpoints=tuple(each.name for each in facts.verification.checked),
        tables=tuple(str(each.identifier) for each in facts.tables),
        findings=findings,
        running=facts.holder is not None and facts.holder.alive(),
        checks=checklist(facts, findings),
    )


def findings_of(facts: StorageFacts) -> tuple[Finding, ...]:
    """Returns what the rules find, errors first, else in the order of the rules."""
    return _errors_first(finding for rule in _RULES for finding in rule(facts))


def _errors_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda each: each.severity is not Severity.ERROR))
