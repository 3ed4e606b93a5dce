"""What a check says: it passed, it does not apply, or what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.settings import SettingsFacts
from penstock.care.finding import Measured, Place, SettingEdit, Subject
from penstock.errors import SourceLocation


@dataclass(frozen=True, slots=True)
class Passed:
    """It is as it should be; `evidence` is what was seen, in words."""

    evidence: str
    measured: Measured = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """It cannot be wrong here, or what is recorded does not say; `reason` is a sentence."""

    reason: str


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong; the attributes are those of a `Finding`."""

    place: Place
    evidence: str
    measured: Measured = field(default_factory=dict)
    edit: SettingEdit | None = None
    commands: tuple[str, ...] = ()
    since: datetime | None = None


Outcome = Passed | NotApplicable | Sequence[Fault]
Check = Callable[[StorageFacts], Outcome]

NO_SETTINGS = NotApplicable("Only the storage is known here, not the pipeline file.")
NO_UPDATE = NotApplicable("No update has run yet.")
NO_ROW = NotApplicable("No flow has read a row yet.")
NO_TABLE = NotApplicable("There is no table yet.")


def judged(faults: Sequence[Fault], passed: str, **measured: float | int | str) -> Outcome:
    """Returns what is wrong, or that it passed."""
    return faults or Passed(passed, measured)


def keeps_going(facts: StorageFacts, settings: SettingsFacts) -> bool:
    """Whether a run continues until it is stopped, by the pipeline file or by the options of the newest run."""
    return settings.continuous or any(each.continuous for each in facts.history.updates[:1])


def of_settings(check: Callable[[StorageFacts, SettingsFacts], Outcome]) -> Check:
    """Returns a check that does not apply where the settings are not known."""

    def checked(facts: StorageFacts) -> Outcome:
        return NO_SETTINGS if facts.settings is None else check(facts, facts.settings)

    return checked


def declared_at(location: str | None, kind: str, name: str) -> Place:
    """Returns the place of a declaration, `file:line`, or the thing itself where the log does not have it."""
    file, _, line = (location or "").rpartition(":")
    return SourceLocation(file, int(line)) if file and line.isdecimal() else Subject(kind, name)


def counted(number: int, word: str) -> str:
    """Returns `1 table`, `3 tables`, `2 batches`."""
    plural = f"{word}es" if word.endswith("ch") else f"{word}s"
    return f"{number:,} {word if number == 1 else plural}"
