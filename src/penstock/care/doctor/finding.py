"""One thing that is wrong with a storage."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.errors import PenstockError
from penstock.events.codec import format_timestamp
from penstock.observe.problems import Severity


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        severity: ERROR when the next run would be refused or lose rows, else WARNING.
        error: what is wrong and what to do, as a condition of the catalogue.
        where: the file or folder; None where the message names it.
        since: when it began; None when it is not known.
        commands: what to type next.
    """

    severity: Severity
    error: PenstockError
    where: str | None = None
    since: datetime | None = None
    commands: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns one element of `doctor --json`: that of the error, with severity, where, since and commands."""
        return {
            **self.error.to_json(),
            "severity": self.severity.value,
            "where": self.where,
            "since": None if self.since is None else format_timestamp(self.since),
            "commands": list(self.commands),
        }
