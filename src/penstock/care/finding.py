"""The one type of what lint and doctor find: rule, severity, place, evidence, why, fix, and a safe change."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from importlib import resources
from typing import Any, Self

from penstock.errors import PenstockError, SourceLocation
from penstock.observe.severity import Severity

Measured = Mapping[str, float | int | str]


@dataclass(frozen=True, slots=True)
class Edit:
    """A safe change: what stands from `start` to `end`, each (line from 1, column from 0), becomes `text`."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


@dataclass(frozen=True, slots=True)
class SettingEdit:
    """A safe change of the pipeline file: the keys from the outermost to the innermost, and the value that they get."""

    keys: tuple[str, ...]
    value: str | int | bool | Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Subject:
    """A place that is not in a file: a `kind`, such as table, flow, checkpoint, setting or storage, and its name."""

    kind: str
    name: str
    line: None = None
    column: None = None

    @property
    def path(self) -> str:
        """What stands in the place of a file's path."""
        return f"{self.kind} {self.name}".rstrip()

    def __str__(self) -> str:
        return self.path


Place = SourceLocation | Subject


@dataclass(frozen=True, slots=True)
class Rule:
    """What is looked for.

    Attributes:
        name: by which it is ignored and explained, such as `checkpoint-missing`.
        severity: ERROR when rows are lost, doubled or wrong, or the query cannot run; else WARNING.
        why: what happens otherwise, a sentence.
        fix: what to do, a sentence.
        bad: code or settings in which it is found, once.
        good: the same, mended.
        group: what it protects, such as reliability or cost; None of a rule about code.
    """

    name: str
    severity: Severity
    why: str
    fix: str
    bad: str
    good: str
    group: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns what `--explain NAME --json` prints."""
        document = {
            "rule": self.name,
            "severity": self.severity.value,
            "why": self.why,
            "fix": self.fix,
            "bad": self.bad,
            "good": self.good,
        }
        return document if self.group is None else {**document, "group": self.group}


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule has found at one place.

    Attributes:
        rule: what was looked for.
        place: a place in a file, or the table, flow, checkpoint or setting.
        evidence: what is there, in words that complete the rule's sentence.
        text: the line of a file, without the space around it.
        edit: the safe change that mends it, if there is one.
        measured: the numbers behind the evidence, by name with their unit.
        error: the condition of the catalogue that says the same, with a fix of its own.
        since: when it began; None when it is not known.
        commands: what to type next.
    """

    rule: Rule
    place: Place
    evidence: str
    text: str = ""
    edit: Edit | SettingEdit | None = None
    measured: Measured = field(default_factory=dict)
    error: PenstockError | None = None
    since: datetime | None = None
    commands: tuple[str, ...] = ()

    @classmethod
    def of_error(
        cls,
        rule: Rule,
        error: PenstockError,
        *,
        where: str | None = None,
        since: datetime | None = None,
        commands: tuple[str, ...] = (),
    ) -> Self:
        """Returns the finding that a condition of the catalogue is; `where` is a file or folder."""
        named = Subject("machine", "") if error.dataset is None else Subject("table", error.dataset)
        place = error.location or named if where is None else SourceLocation(where)
        return cls(rule, place, error.message, error=error, since=since, commands=commands)

    @property
    def severity(self) -> Severity:
        """That of the rule."""
        return self.rule.severity

    @property
    def fix(self) -> str:
        """What to do: the condition's own words, else the rule's."""
        return self.rule.fix if self.error is None else self.error.fix

    @property
    def condition(self) -> str | None:
        """The name of its condition of the catalogue, for `penstock explain`."""
        return None if self.error is None else self.error.condition

    @property
    def where(self) -> str | None:
        """The file or folder; None of another place, and where the condition's message names it."""
        named = self.error is not None and self.error.location is not None
        return str(self.place) if isinstance(self.place, SourceLocation) and not named else None

    def to_json(self) -> dict[str, Any]:
        """Returns one element of `findings` of `lint --json` and `doctor --json`; an error's with all that it says."""
        from penstock.events.codec import format_timestamp

        file = self.place if isinstance(self.place, SourceLocation) else None
        document = {
            "rule": self.rule.name,
            "severity": self.severity.value,
            "place": str(self.place),
            "path": None if file is None else file.path,
            "line": None if file is None else file.line,
            "column": None if file is None else file.column,
            "evidence": self.evidence,
            "measured": dict(self.measured),
            "why": self.rule.why,
            "fix": self.fix,
            "fixable": self.edit is not None,
            "since": None if self.since is None else format_timestamp(self.since),
            "commands": list(self.commands),
        }
        return document if self.error is None else {**self.error.to_json(), "where": self.where, **document}


def read_rules(package: str) -> Mapping[str, Rule]:
    """Returns the rules of a package's `catalogue.toml` by name, in its order."""
    text = (resources.files(package) / "catalogue.toml").read_text(encoding="utf-8")
    return {
        name: Rule(name=name, severity=Severity(entry.pop("severity")), **entry)
        for name, entry in tomllib.loads(text).items()
    }
