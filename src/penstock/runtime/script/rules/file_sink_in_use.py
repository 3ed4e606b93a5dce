"""A folder of files knows the batches written to it by their number only, and skips those that it has."""

from __future__ import annotations

from penstock.errors import DefinitionError, StateError
from penstock.runtime.script.rules.starting import Starting
from penstock.runtime.script.stream_write import StreamWrite
from penstock.spark.streams.earlier_batches import has_planned_batches, holds_batches_of_another_query


def file_sink_in_use(write: StreamWrite, starting: Starting) -> StreamWrite:
    """Refuses a second query into a folder, and one with a new checkpoint: Spark would skip its batches silently."""
    if not write.is_file_sink or write.path is None or write.checkpoint is None:
        return write
    for other, _ in starting.earlier():
        if other.is_file_sink and other.path == write.path and other.checkpoint != write.checkpoint:
            raise DefinitionError(
                "FILE_SINK_SHARED",
                location=write.location,
                dataset=str(write.dataset),
                flow=write.name,
                first=other.name,
                path=write.path,
            )
    is_new_query = not has_planned_batches(starting.spark, write.checkpoint)
    if is_new_query and holds_batches_of_another_query(starting.spark, write.path):
        raise StateError(
            "SINK_FOLDER_IN_USE", location=write.location, dataset=str(write.dataset), name=write.name, path=write.path
        )
    return write
