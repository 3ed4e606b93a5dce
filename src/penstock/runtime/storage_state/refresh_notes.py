"""What a refresh notes in its own commit, so that the next one can tell whether anything has changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from penstock.events import RefreshMethod
from penstock.events.flows.refresh_costs import Attempt, RefreshCost, RefreshHistory
from penstock.plan.refresh import ABSENT
from penstock.plan.state import RefreshRecord
from penstock.storage.delta.table import is_delta_table, open_delta_table

_KEY = "penstock.refresh"
_LONGEST_LOOK_BACK = 50
# Commits that leave the rows as they are; after any other one the rows are not those of our refresh.
_KEEPS_ROWS = {
    "ADD COLUMNS",
    "ADD CONSTRAINT",
    "CHANGE COLUMN",
    "CHANGE COLUMNS",
    "CLUSTER BY",
    "COMPUTE STATS",
    "DROP CONSTRAINT",
    "OPTIMIZE",
    "REORG",
    "SET TBLPROPERTIES",
    "UNSET TBLPROPERTIES",
    "UPGRADE PROTOCOL",
    "VACUUM START",
    "VACUUM END",
}


def refresh_note(record: RefreshRecord, cost: RefreshCost | None = None) -> str:
    """Returns the user metadata of the commit that replaces the rows.

    With `cost` the refresh is measured: from its begin to the time of the commit.
    """
    noted = {"definition": record.definition, "inputs": dict(record.inputs)}
    exact = {"exact": True, "method": record.method} if record.exact else {}
    if cost is None:
        return json.dumps({_KEY: noted | exact}, sort_keys=True)
    history = {"history": cost.history.to_json()} if cost.history.measures else {}
    measured: dict[str, Any] = {"began": round(cost.began, 3), "work": cost.work, "changed": cost.changed}
    if cost.attempt is not None:
        measured["attempt"] = [cost.attempt.method.value, round(cost.attempt.seconds, 3), cost.attempt.work]
    return json.dumps({_KEY: noted | exact | history | measured}, sort_keys=True)


def last_refresh(table: DeltaTable) -> RefreshRecord | None:
    """Returns what the present rows of `table` were computed from; None when that is not known.

    It is not known when something other than a refresh wrote last, or when the commit is no longer
    in the log: then the view is computed again.
    """
    for commit in table.history(_LONGEST_LOOK_BACK):
        if (note := _parsed(commit.get("userMetadata"), commit.get("timestamp"))) is not None:
            return note
        if commit.get("operation") not in _KEEPS_ROWS:
            return None
    return None


def versions_of(inputs: Mapping[str, str]) -> dict[str, str]:
    """Returns the present version of each table, given name and path; reads only logs.

    It changes with each commit, and when a table is replaced by another one. A table whose log
    cannot be read is left out, and so counts as changed.
    """
    found = {}
    for name, path in inputs.items():
        with suppress(DeltaError, OSError):
            found[name] = _version(path)
    return found


def _version(path: str) -> str:
    if not is_delta_table(path):
        return ABSENT
    table = open_delta_table(path)
    return f"{table.metadata().id}@{table.version()}"


def _parsed(text: Any, committed_ms: Any) -> RefreshRecord | None:
    try:
        note = json.loads(text)[_KEY]
        inputs = {str(name): str(version) for name, version in note["inputs"].items()}
        record = RefreshRecord(
            str(note["definition"]), inputs, bool(note.get("exact", False)), str(note.get("method", "full"))
        )
    except (TypeError, ValueError, KeyError, AttributeError):
        return None
    return replace(record, history=_measured(note, committed_ms))


def _measured(note: dict[str, Any], committed_ms: Any) -> RefreshHistory:
    """Returns the history that a commit notes, with its own refresh where that was measured."""
    history = RefreshHistory.of_json(note.get("history"))
    with suppress(TypeError, ValueError, KeyError):
        seconds = float(committed_ms) / 1000 - float(note["began"])
        if seconds >= 0:  # else a clock was set back
            method = RefreshMethod(note.get("method", "full"))
            history = history.with_measure(method, seconds, int(note["work"]), int(note["changed"]))
            tried, spent, work = note["attempt"]
            return history.with_attempt(Attempt(RefreshMethod(tried), float(spent), int(work)))
    return history
