"""Twelve places at which a flow can die, and the means to hold each flow exactly there until it is killed.

A thread of the JVM is held by a rule of Byteman around one call of the local file system, told by the file's path; a
thread of Python in a wrapped function. A held thread says so by a file, and waits for kill -9.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from tests.cli_runner import running
from tests.faults import byteman
from tests.faults.six_flows import KINDS, SixFlows

Call = Literal["before", "after", "open"]
"""Before or after a file gets its name by a rename, or once it is open and empty."""

_STATEFUL: Final = ("windows", "dedup")
_COMMIT: Final = "tables/shop/{table}/_delta_log/[0-9]{{20}}.json"
_CHECKPOINT: Final = "checkpoints/shop/{table}/{table}/0"
_METHODS: Final[Mapping[Call, tuple[byteman.Call, str]]] = {
    "before": (byteman.RENAME, "ENTRY"),
    "after": (byteman.RENAME, "EXIT"),
    "open": (byteman.CREATE, "EXIT"),
}


@dataclass(frozen=True, slots=True)
class JvmPlace:
    """Around a call of the local file system for a file whose path below the storage matches `path`."""

    call: Call
    path: str
    caller: str = ""
    """A class that must be among the callers; any when empty."""

    def rule(self, kind: str, sign: Path) -> str:
        """Returns the Byteman rule that holds the flow of this kind, or of the table of that name, here."""
        call, moment = _METHODS[self.call]
        return byteman.rule(
            kind,
            call,
            self.path.format(table=KINDS.get(kind, kind)),
            "sign.createNewFile(); delay(3600000)",
            moment=moment,
            condition=f'callerMatches(".*{self.caller}.*", true, true, 1, 100)' if self.caller else "TRUE",
            bind=f'sign = new java.io.File("{sign}")',
        )


@dataclass(frozen=True, slots=True)
class PythonPlace:
    """In one of the functions that `holding.py` wraps."""

    name: str


Place = JvmPlace | PythonPlace


@dataclass(frozen=True, slots=True)
class Kill:
    """One command that is killed once the flows of these kinds are all held at their places."""

    places: Mapping[str, Place]
    command: Sequence[str] = ("run",)
    files: int = 2
    """How many files arrive before: two, so that each flow has two commits and Delta a checkpoint to write."""


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """A named point: where it is for each kind of flow, and the kills that reach all six."""

    name: str
    kills: Sequence[Kill]
    note: str = field(default="", kw_only=True)
    """What stands for the point where a kind does not have it."""

    @property
    def kinds(self) -> list[str]:
        """The kinds that are killed at it."""
        return [kind for kill in self.kills for kind in kill.places]


def _all(call: Call, path: str) -> list[Kill]:
    return [Kill({kind: JvmPlace(call, path) for kind in KINDS})]


def _optimize() -> list[Kill]:
    place = JvmPlace("before", _COMMIT, caller="OptimizeExecutor")
    automatic = [kind for kind in KINDS if kind.startswith("SCD")]  # Delta does it after a MERGE
    by_hand = [kind for kind in KINDS if kind not in automatic]
    return [
        *(Kill({kind: place}, ("optimize", "--table", f"shop.{KINDS[kind]}"), files=0) for kind in by_hand),
        Kill(dict.fromkeys(automatic, place)),
    ]


def _two_targets() -> dict[str, Place]:
    places: dict[str, Place] = {
        kind: JvmPlace("before", f"{_CHECKPOINT}/state/0/1/[0-9]+[.]changelog") for kind in _STATEFUL
    }
    places["append"] = JvmPlace("before", "tables/shop/{table}/_delta_log/[0-9]{{20}}.crc")
    return places | {kind: PythonPlace("two_targets") for kind in ("quarantine", "SCD1", "SCD2")}


def _notes() -> dict[str, Place]:
    return {
        kind: JvmPlace("before", f"{_CHECKPOINT}/state/0/[0-9]+/[0-9]+[.]changelog")
        if kind in _STATEFUL
        else JvmPlace("before", f"{_CHECKPOINT}/sources/[^/]+/[0-9]+")
        for kind in KINDS
    }


POINTS: Final = (
    CrashPoint("before the offset log", _all("before", f"{_CHECKPOINT}/offsets/[0-9]+")),
    CrashPoint("after the offset log", _all("after", f"{_CHECKPOINT}/offsets/[0-9]+")),
    CrashPoint("a data file is open", _all("open", "tables/shop/{table}/part-[^/]*[.]parquet")),
    CrashPoint(
        "state is committed",
        [Kill(_notes())],
        note="flows without state: the source's log of files, which they have instead",
    ),
    CrashPoint("before the Delta commit", _all("before", _COMMIT)),
    CrashPoint("after the Delta commit", _all("after", _COMMIT)),
    CrashPoint(
        "between two targets",
        [Kill(_two_targets())],
        note="append: between a commit and its checksum; windows, dedup: between the state of two partitions",
    ),
    CrashPoint("log checkpoint", _all("before", "tables/shop/{table}/_delta_log/_last_checkpoint")),
    CrashPoint("OPTIMIZE", _optimize()),
    CrashPoint("before the commit log", _all("before", f"{_CHECKPOINT}/commits/[0-9]+")),
    CrashPoint("after the commit log", _all("after", f"{_CHECKPOINT}/commits/[0-9]+")),
    CrashPoint("event-log append", [Kill({kind: PythonPlace("event")}, files=1) for kind in KINDS]),
)


def kill_at(kill: Kill, project: SixFlows, signs: Path) -> None:
    """Runs the command, and kills JVM and Python with SIGKILL when all its flows are held; fails if it ends before."""
    signs.mkdir()
    rules, held = "", []
    for kind, place in kill.places.items():
        match place:
            case JvmPlace():
                rules += place.rule(kind, signs / kind)
            case PythonPlace(name=name):
                held.append(f"{name}:{KINDS[kind]}={signs / kind}")
    environ = {"HELD": " ".join(held), **(byteman.environment(rules, signs / "rules.btm") if rules else {})}
    command, *arguments = kill.command
    kill_when_held((command, project.directory, *arguments), environ, [signs / kind for kind in kill.places])


def kill_when_held(command: Sequence[object], environ: Mapping[str, str], signs: Sequence[Path]) -> None:
    """Runs a command, and kills its JVM and Python with SIGKILL when all signs are there; fails if it ends before."""
    with running(*command, environ=environ) as process:
        process.wait_for(
            lambda: all(sign.exists() for sign in signs),
            what=f"{', '.join(sign.name for sign in signs)} are held",
            timeout=300,
        )
        process.jvm().kill()
        process.signal(signal.SIGKILL)
        assert process.wait(60).exit_code == -signal.SIGKILL
