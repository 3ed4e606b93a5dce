"""Errors are made, shown and recorded in a process that can open no file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

START = """
import importlib.metadata, resource, sys
import penstock.config, penstock.storage
from penstock.cli import stopping
from penstock.cli.commands.running import run
from penstock.cli.screen import failures
from penstock.errors import ExternalError, InternalError, conditions, render
from penstock.events import EventLog, EventType, Level, builders, UpdateState, read_events
storage = sys.argv[1]
log = EventLog.open(storage, pipeline_name="p", update_id="u")
log.append(EventType.UPDATE_PROGRESS, *builders.update_progress(UpdateState.RUNNING, pipeline="p"))
def no_descriptor(): resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
"""


def run(program: str, tmp_path: Path) -> str:
    command = [sys.executable, "-c", START + program, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_every_condition_is_made_shown_and_recorded(tmp_path: Path) -> None:
    program = """
conditions(); no_descriptor()
for name in conditions():
    error = ExternalError(name)
    assert name in render(error)
    log.append(EventType.UPDATE_PROGRESS, *builders.update_progress(UpdateState.FAILED, pipeline="p"), error=error)
print(len(conditions()))
"""
    count = int(run(program, tmp_path))
    (segment,) = (tmp_path / "events").glob("*.jsonl")
    assert len(segment.read_bytes().splitlines()) == count + 1


def test_a_segment_gets_longer_when_the_next_one_cannot_be_opened(tmp_path: Path) -> None:
    program = """
from penstock.events.log import event_log as module
log._longest_segment = 100
no_descriptor()
for _ in range(5):
    log.append(EventType.UPDATE_PROGRESS, *builders.update_progress(UpdateState.RUNNING, pipeline="p"))
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
log.append(EventType.UPDATE_PROGRESS, *builders.update_progress(UpdateState.RUNNING, pipeline="p"))
log.close()
print([each.sequence for each in read_events(storage)])
"""
    assert run(program, tmp_path) == "[0, 1, 2, 3, 4, 5, 6]\n"
    assert len(list((tmp_path / "events").glob("*.jsonl"))) == 2


def test_whatever_ends_a_run_is_reported(tmp_path: Path) -> None:
    program = """
conditions(); no_descriptor()
for error in (OSError(24, "Too many open files"), KeyError("a bug"), ExternalError("STORAGE_FULL", detail="x")):
    failures.report_failure(error, as_json=False, debug=False)
"""
    said = run(program, tmp_path)
    assert [word for word in ("OPEN_FILES_EXHAUSTED", "INTERNAL_ERROR", "STORAGE_FULL") if f"[{word}]" in said] == [
        "OPEN_FILES_EXHAUSTED",
        "INTERNAL_ERROR",
        "STORAGE_FULL",
    ], said
