"""The one type of what `penstock tune` says: a setting, its value, the advised one, and what that was computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from penstock.care.finding import Measured
from penstock.care.tuning.load import PipelineLoad
from penstock.care.tuning.settings import SETTINGS


class Verdict(Enum):
    """What is advised."""

    CHANGE = "change"
    KEEP = "keep"
    TOO_LITTLE = "too little evidence"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Advice:
    """One line of advice.

    Attributes:
        setting: its name in Spark, a key of `SETTINGS`.
        verdict: whether to change it.
        evidence: what it was computed from; what is missing, or why it does not apply, as a sentence.
        flow: the flow whose checkpoint or read has the setting; None of a setting of the session.
        now: the value in force, Spark's own default included; None where it is not known or not set.
        advised: the advised value; None to leave it unset, and without a verdict.
        place: `file:line` of the flow whose read has the option.
        measured: the numbers behind it, by name with their unit.
        commands: what to type.
    """

    setting: str
    verdict: Verdict
    evidence: str
    flow: str | None = None
    now: str | None = None
    advised: str | None = None
    place: str | None = None
    measured: Measured = field(default_factory=dict)
    commands: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """Where the value is set."""
        where = SETTINGS[self.setting].where
        return where if self.place is None else f"{where}, {self.place}"

    def to_json(self) -> dict[str, Any]:
        """Returns one element of `settings` of `penstock tune --json`."""
        setting = SETTINGS[self.setting]
        return {
            "setting": self.setting,
            "flow": self.flow,
            "verdict": self.verdict.value,
            "now": self.now,
            "advised": self.advised,
            "evidence": self.evidence,
            "measured": dict(self.measured),
            "why": setting.why,
            "formula": setting.formula,
            "source": setting.source,
            "where": self.where,
            "commands": list(self.commands),
        }


Adviser = Callable[[PipelineLoad], Iterator[Advice]]
"""Says what is advised for one setting or a few that belong together."""


def too_little(setting: str, reason: str, **more: Any) -> Advice:
    """Returns that the records do not say enough; `reason` is what is missing."""
    return Advice(setting, Verdict.TOO_LITTLE, reason, **more)


def not_applicable(setting: str, reason: str, **more: Any) -> Advice:
    """Returns that the setting has no effect here, or cannot be judged here at all."""
    return Advice(setting, Verdict.NOT_APPLICABLE, reason, **more)


def keep(setting: str, evidence: str, now: str | None, **more: Any) -> Advice:
    """Returns that the value in force is right."""
    return Advice(setting, Verdict.KEEP, evidence, now=now, advised=now, **more)


def change(setting: str, evidence: str, now: str | None, advised: str, **more: Any) -> Advice:
    """Returns another value."""
    return Advice(setting, Verdict.CHANGE, evidence, now=now, advised=advised, **more)
