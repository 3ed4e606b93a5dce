"""A query without a place for its progress would begin from scratch with each start, and write everything again."""

from __future__ import annotations

from penstock.errors import DefinitionError
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import CHECKPOINT, StreamWrite

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
