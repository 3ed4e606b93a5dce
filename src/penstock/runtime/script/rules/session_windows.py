"""Session windows grow and merge, so Spark cannot tell which of them changed in a batch: it refuses update mode."""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import DefinitionError
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite
from penstock.spark.plans.inspection import groups_by_session


def session_windows(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Runs them in append mode instead: each session is written once, when the watermark has passed its end."""
    if write.mode != "update" or not groups_by_session(write.frame):
        return write
    starting.notice(DefinitionError("SESSION_WINDOW_APPENDED", location=write.location, query=write.name))
    return replace(write, mode="append")
