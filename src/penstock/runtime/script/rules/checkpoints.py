"""A query has a checkpoint that is its own, and that it goes on with."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.errors import DefinitionError, PenstockError, StateError
from penstock.graph.stream_definition import STATE_SETTINGS, WATERMARK_POLICY
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import CHECKPOINT, StreamWrite
from penstock.runtime.storage_state.stream_notes import planned_settings
from penstock.spark.plans.inspection import stateful_operators
from penstock.spark.streams.earlier_batches import has_planned_batches, newest_batch_in_table
from penstock.storage import local_path

# A query without a place for its progress would begin from scratch with each start, and write everything again.
_ROOT = "spark.sql.streaming.checkpointLocation"


def missing_checkpoint(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Gives it one under the storage, the same with each run; sinks to look at keep nothing, as in Spark."""
    if write.checkpoint is not None or write.keeps_nothing:
        return write
    root = starting.spark.conf.get(_ROOT, None)
    if root:  # Spark's own setting, by the query's name
        return write.with_options(**{CHECKPOINT: f"{root.rstrip('/')}/{write.name}"})
    chosen = starting.layout.checkpoint(write.dataset, write.name, 0)
    starting.notice(DefinitionError("QUERY_CHECKPOINT_CHOSEN", location=write.location, query=write.name, path=chosen))
    return write.with_options(**{CHECKPOINT: chosen})


# Two queries with one checkpoint: each would take the other's progress for its own, and lose or repeat rows.
def shared_checkpoint(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Refuses the second one; the same query may start again when it has ended."""
    if write.checkpoint is None:
        return write
    for other, runs in starting.earlier():
        if _place(other) == _place(write) and (runs or other.target != write.target):
            raise StateError(
                "QUERY_CHECKPOINT_SHARED",
                location=write.location,
                dataset=str(write.dataset),
                query=write.name,
                path=write.checkpoint,
                other=other.name,
                first=other.location,
            )
    return write


def _place(write: StreamWrite) -> str:
    place = (write.checkpoint or "").removeprefix("file:").rstrip("/")
    return place.replace("s3a://", "s3://", 1)  # two names of one store


# A query whose checkpoint is gone, while its table holds what it has written: it would write all of it again.
def lost_checkpoint(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Refuses it: the table's log has a batch of a query that the event log knows to be this one."""
    if not write.is_delta or write.path is None or write.checkpoint is None:
        return write
    if has_planned_batches(starting.spark, write.checkpoint):
        return write
    for batch in starting.record(write).checkpointed.values():
        stored = newest_batch_in_table(starting.spark, write.path, batch.query_id)
        if stored is not None:
            raise StateError(
                "QUERY_CHECKPOINT_LOST",
                location=write.location,
                dataset=str(write.dataset),
                query=write.name,
                path=write.checkpoint,
                table=local_path(write.path) if write.table is None else write.dataset,
                batch=stored,
            )
    return write


# Settings of the state that came after its first batch: Spark goes on with those of the checkpoint, without a word.
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
            write.error(
                "STATE_SETTING_KEPT",
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
