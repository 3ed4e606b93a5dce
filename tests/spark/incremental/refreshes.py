"""What random refreshes have shown, added up over sessions in `docs/evidence/incremental-refreshes.json`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.faults.evidence import commit_now

EVIDENCE: Final = Path(__file__).parents[3] / "docs/evidence/incremental-refreshes.json"
_FIRST_SEED: Final = 100


@dataclass(slots=True)
class Refreshes:
    """Refreshes, each compared with a full recompute: how many by each method, after each change, and in full why.

    `differences` name the seed, the change and the query of each that had other rows.
    """

    by_method: Counter[str] = field(default_factory=Counter)
    by_change: Counter[str] = field(default_factory=Counter)
    in_full_because: Counter[str] = field(default_factory=Counter)
    differences: list[dict[str, Any]] = field(default_factory=list)

    def add_to(self, file: Path, seed: int, session: Mapping[str, Any]) -> None:
        """Adds them to the evidence, as those of a seed in a session: a later call goes on behind it."""
        document = _read(file)
        for name in ("by_method", "by_change", "in_full_because"):
            counted = Counter(document[name]) + getattr(self, name)
            document[name] = dict(sorted(counted.items(), key=lambda each: (-each[1], each[0])))
        document["refreshes"] = sum(document["by_method"].values())
        document["differences"] += self.differences
        document["sessions"] = _with_seed(document["sessions"], session, seed, self.by_method.total())
        file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def next_seed(file: Path) -> int:
    """Returns the first seed that no session has had."""
    return max((session["seeds"][1] + 1 for session in _read(file)["sessions"]), default=_FIRST_SEED)


def _read(file: Path) -> dict[str, Any]:
    if file.exists():
        document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return document
    nothing: dict[str, Any] = {"by_method": {}, "by_change": {}, "in_full_because": {}, "sessions": []}
    return {"refreshes": 0, "differences": [], **nothing}


def this_session() -> dict[str, Any]:
    """Returns the commit whose code has been imported, and the day."""
    return {**commit_now(), "date": datetime.now(UTC).date().isoformat()}


def _with_seed(
    sessions: list[dict[str, Any]], now: Mapping[str, Any], seed: int, refreshes: int
) -> list[dict[str, Any]]:
    """A session is what ran at one commit on one day."""
    *before, last = sessions or [{}]
    if {key: last.get(key) for key in now} == now and last["seeds"][1] == seed - 1:
        return [*before, {**last, "seeds": [last["seeds"][0], seed], "refreshes": last["refreshes"] + refreshes}]
    return [*sessions, {**now, "seeds": [seed, seed], "refreshes": refreshes}]
