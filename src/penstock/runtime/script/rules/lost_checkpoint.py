"""A query whose checkpoint is gone, while its table holds what it has written: it would write all of it again."""

from __future__ import annotations

from penstock.errors import StateError
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite
from penstock.spark.streams.earlier_batches import has_planned_batches, newest_batch_in_table
from penstock.storage import local_path


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
                table=write.table or local_path(write.path),
                batch=stored,
            )
    return write
