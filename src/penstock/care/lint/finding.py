"""One thing that a rule has found, and the rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import SourceLocation
from penstock.observe.problems import Severity

if TYPE_CHECKING:
    from penstock.care.lint.script import Script


@dataclass(frozen=True, slots=True)
class Edit:
    """A safe change: what stands from `start` to `end`, each (line from 1, column from 0), becomes `text`."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


@dataclass(frozen=True, slots=True)
class Found:
    """What a check yields: where in the script, and what is there, in words that complete the rule's sentence."""

    line: int
    column: int
    evidence: str
    edit: Edit | None = None


Check = Callable[["Script"], Iterator[Found]]


@dataclass(frozen=True, slots=True)
class Rule:
    """What is looked for.

    Attributes:
        name: by which it is ignored and explained, such as `checkpoint-missing`.
        severity: ERROR when rows are lost, doubled or wrong, or the query cannot run; else WARNING.
        why: what happens otherwise, a sentence.
        fix: what to do, a sentence.
        bad: code in which it is found, once.
        good: the same, mended.
    """

    name: str
    severity: Severity
    why: str
    fix: str
    bad: str
    good: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule has found at one place; `text` is the line there, without the space around it."""

    rule: Rule
    place: SourceLocation
    evidence: str
    text: str
    edit: Edit | None = None

    def to_json(self) -> dict[str, Any]:
        """Returns one element of `penstock lint --json`."""
        return {
            "rule": self.rule.name,
            "severity": self.rule.severity.value,
            "path": self.place.path,
            "line": self.place.line,
            "column": self.place.column,
            "evidence": self.evidence,
            "why": self.rule.why,
            "fix": self.rule.fix,
            "fixable": self.edit is not None,
        }
