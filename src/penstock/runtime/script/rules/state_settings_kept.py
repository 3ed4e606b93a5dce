"""Settings of the state that came after its first batch: Spark goes on with those of the checkpoint, without a word."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.errors import DefinitionError, PenstockError
from penstock.graph.stream_definition import STATE_SETTINGS, WATERMARK_POLICY
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite
from penstock.runtime.storage_state.stream_notes import planned_settings
from penstock.spark.plans.inspection import stateful_operators


def state_settings_kept(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Reports those that the session has otherwise."""
    if write.checkpoint is None or not stateful_operators(write.frame):
        return write
    unchanged = []
    for name, old in _planned_settings(write.checkpoint).items():
        new = starting.spark.conf.get(name, old)
        if name in (*STATE_SETTINGS, WATERMARK_POLICY) and new is not None and old.casefold() != new.casefold():
            unchanged.append(f"{name} stays {old}, not {new}")
    if unchanged:
        starting.notice(
            DefinitionError(
                "STATE_SETTING_KEPT",
                location=write.location,
                dataset=str(write.dataset),
                name=write.name,
                settings="; ".join(unchanged),
                command="give the query a checkpointLocation and a target of its own",
            )
        )
    return write


def _planned_settings(checkpoint: str) -> Mapping[str, str]:
    """Those of the newest batch; none where Python cannot read the checkpoint, which Spark may."""
    try:
        return planned_settings(checkpoint) or {}
    except PenstockError:
        return {}
