"""`trigger(once=True)` is deprecated: it takes all data in one batch, whatever its size."""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import DefinitionError
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite


def once_trigger(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Runs it as `availableNow`: the same data, in batches as large as the source allows."""
    if not write.trigger.get("once"):
        return write
    starting.notice(DefinitionError("TRIGGER_ONCE_REPLACED", location=write.location, query=write.name))
    return replace(write, trigger={"availableNow": True})
