"""Holds a flow at a place of Penstock's own Python, until kill -9; this text stands before a pipeline's in its file.

`HELD` says where: words `place:table=file`. The file is made when the thread of the table's flow gets there.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from penstock.events.log.event_log import EventLog
from penstock.spark.expectations import quarantine
from penstock.spark.writers import checking_writer
from penstock.spark.writers.changes.log import ChangeLog

_signs = dict(word.split("=") for word in os.environ.get("HELD", "").split())


def _hold(place: str, table: str) -> None:
    if sign := _signs.get(f"{place}:{table}"):
        Path(sign).touch()
        threading.Event().wait()


def _before_quarantine(
    rows: Any, path: str, *arguments: Any, _then: Any = quarantine.append_few, **options: Any
) -> Any:
    _hold("two_targets", Path(path).name.removesuffix("__quarantine"))
    return _then(rows, path, *arguments, **options)


def _after_change_log(log: ChangeLog, *arguments: Any, _first: Any = ChangeLog.append, **options: Any) -> Any:
    logged = _first(log, *arguments, **options)
    _hold("two_targets", Path(log.path).parent.name)
    return logged


def _half_an_event(log: Any, line: bytes, _whole: Any = EventLog._write) -> None:
    for word in _signs:
        place, _, table = word.partition(":")
        if place == "event" and b'"metrics\\"' in line and f'"shop.{table}"'.encode() in line:
            log._segment.write(line[: len(line) // 2])
            log._segment.flush()
            _hold(place, table)
    _whole(log, line)


checking_writer.append_few = _before_quarantine  # type: ignore[attr-defined]
ChangeLog.append = _after_change_log  # type: ignore[method-assign, assignment]
EventLog._write = _half_an_event  # type: ignore[method-assign, assignment]
