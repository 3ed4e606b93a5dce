"""What kills of a cluster's parts have done, added up over calls as long as the code is the same."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from tests.faults.evidence import write_evidence
from tests.faults.nine_flows import NINE

_ROOT: Final = Path(__file__).resolve().parents[2]


class KillRecord:
    """The kills so far, in a file beside the code, up to `wanted`; each counts once the tables have been compared.

    A call after the last one begins anew. The evidence is written when there are `enough`.
    """

    def __init__(self, suite: str, *, wanted: int, enough: int) -> None:
        self._suite = suite
        self._enough = enough
        self._file = _ROOT / f".{suite}.json"
        self._code = _code()
        known = json.loads(self._file.read_text()) if self._file.exists() else {}
        self._rounds: list[dict[str, Any]] = known["rounds"] if known.get("code") == self._code else []
        self._kills: list[dict[str, Any]] = []
        if self.total >= wanted:
            self._rounds = []

    @property
    def total(self) -> int:
        """How many kills there were, those not yet compared among them."""
        return sum(len(each["kills"]) for each in self._rounds) + len(self._kills)

    def killed(self, victim: str, seconds: float, in_flight: Sequence[str]) -> None:
        """Adds a kill, the seconds to the next batch, and the tables of the flows that were at work."""
        self._kills.append({"victim": victim, "seconds": round(seconds, 1), "in_flight": list(in_flight)})

    def compared(
        self, differing: Mapping[str, str], *, seed: int, files: int, seconds: float, ended: Mapping[str, int]
    ) -> None:
        """Adds how the tables differ after the kills since the last comparison, by kind; writes file and evidence."""
        load = round(os.getloadavg()[0], 1)
        found = {
            "seed": seed,
            "load": load,
            "files": files,
            "seconds": round(seconds),
            "ended": ended,
            "differing": differing,
        }
        self._rounds.append({**found, "kills": self._kills})
        self._kills = []
        self._file.write_text(json.dumps({"code": self._code, "rounds": self._rounds}))
        if self.total >= self._enough:
            write_evidence(self._suite, self._summary())

    def _summary(self) -> dict[str, Any]:
        kills = [kill for each in self._rounds for kill in each["kills"]]
        at_work = Counter(table for kill in kills for table in kill["in_flight"])
        ended = sum((Counter(each["ended"]) for each in self._rounds), Counter[str]())
        differing = [f"{kind}: {text}" for each in self._rounds for kind, text in each["differing"].items()]
        return {
            "kills": len(kills),
            "kinds_of_flows": list(NINE),
            "seeds": sorted({each["seed"] for each in self._rounds}),
            "files": sum({each["seed"]: each["files"] for each in self._rounds}.values()),
            "comparisons": len(self._rounds),
            "tables_equal": f"{len(NINE) * len(self._rounds) - len(differing)} of {len(NINE) * len(self._rounds)}",
            "differing": differing,
            "victims": {victim: self._of(victim) for victim in sorted({kill["victim"] for kill in kills})},
            "kills_during_a_batch_of": dict(sorted(at_work.items())),
            "runs_that_ended_by_themselves": dict(ended),
            "load_of_the_machine": _spread([each["load"] for each in self._rounds]),
            "seconds_from_the_last_kill_to_equal_tables": _spread([each["seconds"] for each in self._rounds]),
        }

    def _of(self, victim: str) -> dict[str, Any]:
        followed = [each for each in self._rounds if any(kill["victim"] == victim for kill in each["kills"])]
        own = [kill["seconds"] for each in followed for kill in each["kills"] if kill["victim"] == victim]
        equal = sum(len(NINE) - len(each["differing"]) for each in followed)
        return {
            "kills": len(own),
            "tables_equal": f"{equal} of {len(NINE) * len(followed)}",
            "seconds_to_the_next_batch": _spread(own),
        }


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    return {"median": round(median(seconds), 1), "max": max(seconds)}


def _code() -> str:
    """Returns what stands for the product's code and the kills; the record is of one."""
    files = [f"HEAD:tests/faults/{name}.py" for name in ("dying_cluster", "nine_flows", "six_flows")]
    command = ["git", "rev-parse", "HEAD:src", *files]
    return subprocess.run(command, cwd=_ROOT, check=True, capture_output=True, text=True).stdout
