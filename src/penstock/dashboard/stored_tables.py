"""Rows of tables, read by another process: what that takes in memory goes with it, and it cannot hang the pages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from penstock.dashboard.serving.access import TOKEN_VARIABLE
from penstock.errors import PenstockError
from penstock.storage.stores.settings import store_settings

_SECONDS: Final = 30
_AT_ONCE: Final = 2
_FRESH_SECONDS: Final = 3.0
_MAX_ANSWERS: Final = 20
_NOTHING: Final[Mapping[str, Any]] = {"error": None, "none": False, "versions": []}


class StoredTables:
    """Asks `penstock.dashboard.table_reader`; the same question within three seconds is answered from memory."""

    def __init__(self, storage_uri: str) -> None:
        self._storage = storage_uri
        self._slots = threading.BoundedSemaphore(_AT_ONCE)
        self._answers: dict[str, tuple[float, Mapping[str, Any]]] = {}

    def read(self, kind: str, **arguments: Any) -> Mapping[str, Any]:
        """Returns the reader's answer, or `{"error": {condition, message, fix}}`; never raises for what it finds."""
        question = json.dumps({"kind": kind, "storage": self._storage, **arguments}, sort_keys=True)
        with self._slots:
            known = self._answers.get(question)
            if known is not None and time.monotonic() - known[0] < _FRESH_SECONDS:
                return known[1]
            answer = _ask({**json.loads(question), "stores": _store_settings()})
            while len(self._answers) >= _MAX_ANSWERS:
                self._answers.pop(next(iter(self._answers)), None)
            self._answers[question] = time.monotonic(), answer
            return answer


def _ask(question: Mapping[str, Any]) -> Mapping[str, Any]:
    # -P: a folder that happens to hold a `penstock.py` is not what runs
    command = [sys.executable, "-P", "-m", "penstock.dashboard.table_reader"]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(question).encode(),
            capture_output=True,
            timeout=_SECONDS,
            check=True,
            env=_environment(),
        )
        answer: Mapping[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return _failed(
            f"The storage did not answer within {_SECONDS} seconds.", "Try again, or look with penstock show."
        )
    except (OSError, subprocess.CalledProcessError, ValueError):
        return _failed("The table could not be read.", "penstock show tells more.")
    return {**_NOTHING, **answer}


def _store_settings() -> Mapping[str, str]:
    """None where a secret is missing: it is missed only by a table in an object store, whose reader says so."""
    try:
        return store_settings()
    except PenstockError:
        return {}


def _environment() -> dict[str, str]:
    """What the storage may need, such as an object store's keys, and not the dashboard's token."""
    return {name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE}


def _failed(message: str, fix: str) -> Mapping[str, Any]:
    return {**_NOTHING, "error": {"condition": None, "message": message, "fix": fix}}
