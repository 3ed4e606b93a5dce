"""The accounts of one batch: where each row that was read has gone, as far as it can be known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from penstock.errors.text import plural
from penstock.events.flows.facts import details_of
from penstock.events.types import Event, EventType

QUERY_IDENTITY: Final = "read = evaluated + dropped_in_views + late + deduplicated"
TARGET_IDENTITY: Final = "evaluated = written + dropped + quarantined"
FILES_IDENTITY: Final = "files in the log of the source = files read"

_SHOWN_FILES: Final = 10


class Verdict(Enum):
    """What comparing two sides of an identity says."""

    BALANCED = "BALANCED"
    BROKEN = "BROKEN"
    NOT_CHECKABLE = "NOT_CHECKABLE"


@dataclass(frozen=True, slots=True)
class BatchAccounts:
    """The rows of one batch, counted in places that do not know of each other.

    `read` is what Spark counted at the sources, `evaluated` and `dropped` what the query counted on its way to
    the target, after and by the target's expectations; `written` and `quarantined` are what the commits of the
    target and its quarantine say. Of a table of change flows `written` counts the events that its change log
    took. `dropped_in_views` are rows that expectations of views kept out, `late` those that came behind the
    watermark, `deduplicated` repetitions that the query removed. None is a number that is not known.
    `files_gone` are URIs of files that the log of a source has for this batch, and that were gone when it was read.
    `query_unchecked` and `target_unchecked` say why an identity cannot be checked, None when it can.
    """

    batch_id: int
    read: int | None
    evaluated: int | None
    written: int | None
    dropped: int = 0
    quarantined: int = 0
    dropped_in_views: int = 0
    late: int = 0
    deduplicated: int = 0
    query_unchecked: str | None = None
    target_unchecked: str | None = None
    files_gone: tuple[str, ...] = ()

    @property
    def missing_in_query(self) -> int | None:
        """Rows that were read and never came out of the query; negative when there were more. None: not checkable."""
        if self.query_unchecked is not None or self.read is None or self.evaluated is None:
            return None
        return self.read - self.evaluated - self.dropped_in_views - self.late - self.deduplicated

    @property
    def missing_in_target(self) -> int | None:
        """Rows that the query gave and no commit has; negative when commits have more. None: not checkable."""
        if self.target_unchecked is not None or self.evaluated is None or self.written is None:
            return None
        return self.evaluated - self.written - self.dropped - self.quarantined

    @property
    def verdict(self) -> Verdict:
        """BROKEN when one identity is; else that of the target, because most queries do not keep each row."""
        if self.missing_in_query or self.missing_in_target or self.files_gone:
            return Verdict.BROKEN
        return Verdict.NOT_CHECKABLE if self.missing_in_target is None else Verdict.BALANCED

    @property
    def broken_equation(self) -> str:
        """Says with numbers what does not add up; empty when everything does."""
        said = []
        if self.missing_in_query:
            parts = f"{self.evaluated} evaluated{_plus(self.dropped_in_views, 'dropped in views')}"
            parts += _plus(self.late, "late") + _plus(self.deduplicated, "deduplicated")
            said.append(f"{self.read} rows read, but {parts}: {_surplus(self.missing_in_query)}")
        if self.missing_in_target:
            parts = f"{self.written} written{_plus(self.dropped, 'dropped')}{_plus(self.quarantined, 'quarantined')}"
            said.append(f"{self.evaluated} rows evaluated, but {parts}: {_surplus(self.missing_in_target)}")
        if self.files_gone:
            advice = "written again under another name, they are read"
            said.append(f"{_files(self.files_gone)} of its source gone before the batch read them ({advice})")
        return "; ".join(said)

    def to_json(self) -> dict[str, Any]:
        """Returns the details of an `accounting` event."""
        return {
            "verdict": self.verdict.value,
            "read": self.read,
            "evaluated": self.evaluated,
            "written": self.written,
            "dropped": self.dropped,
            "quarantined": self.quarantined,
            "dropped_in_views": self.dropped_in_views,
            "late": self.late,
            "deduplicated": self.deduplicated,
            "checks": [
                _check(QUERY_IDENTITY, self.missing_in_query, self.query_unchecked),
                _check(TARGET_IDENTITY, self.missing_in_target, self.target_unchecked),
                *self._check_of_files(),
            ],
        }

    def _check_of_files(self) -> list[dict[str, Any]]:
        """Reported only where files are wrong: most sources have none."""
        if not self.files_gone:
            return []
        return [{**_check(FILES_IDENTITY, len(self.files_gone), None), "files": list(self.files_gone[:_SHOWN_FILES])}]


def verdict_of(event: Event) -> Verdict | None:
    """Returns the verdict of an `accounting` event, else None."""
    if event.event_type is not EventType.ACCOUNTING:
        return None
    try:
        return Verdict(details_of(event).get("verdict"))
    except ValueError:
        return None


def _check(identity: str, missing: int | None, reason: str | None) -> dict[str, Any]:
    if missing is None:
        return {
            "identity": identity,
            "verdict": Verdict.NOT_CHECKABLE.value,
            "missing": None,
            "reason": reason or "a number is not known",
        }
    verdict = Verdict.BROKEN if missing else Verdict.BALANCED
    return {"identity": identity, "verdict": verdict.value, "missing": missing, "reason": None}


def _files(uris: tuple[str, ...]) -> str:
    more = f" and {len(uris) - _SHOWN_FILES:,} more" if len(uris) > _SHOWN_FILES else ""
    return f"{plural(len(uris), 'file')} ({', '.join(uris[:_SHOWN_FILES])}{more})"


def _plus(number: int, word: str) -> str:
    return f" + {number} {word}" if number else ""


def _surplus(missing: int) -> str:
    return f"{missing} missing" if missing > 0 else f"{-missing} too many"
