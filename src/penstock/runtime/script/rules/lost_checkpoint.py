"""A query whose checkpoint is gone, while its table holds what it has written: it would write all of it again."""

from __future__ import annotations

from deltalake import DeltaTable

from penstock.errors import StateError
from penstock.runtime.script.rules.progress_kept import begins_anew, is_reached
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite
from penstock.storage import local_path


def lost_checkpoint(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Refuses it: the table's log has a batch of a query that the event log knows to be this one."""
    if not write.is_delta or write.path is None or not is_reached(write.path) or not begins_anew(write):
        return write
    path = local_path(write.path)
    if not DeltaTable.is_deltatable(path):
        return write
    table = DeltaTable(path)
    for batch in starting.record(write).checkpointed.values():
        stored = table.transaction_version(batch.query_id)
        if stored is not None:
            raise StateError(
                "QUERY_CHECKPOINT_LOST",
                location=write.location,
                dataset=str(write.dataset),
                query=write.name,
                path=write.checkpoint or "",
                table=write.table or path,
                batch=stored,
            )
    return write
