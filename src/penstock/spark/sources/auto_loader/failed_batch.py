"""The files of the micro-batch that a failed query left uncommitted, from its checkpoint."""

from __future__ import annotations

from penstock.spark.sources.auto_loader.discovery import path_of_uri
from penstock.storage import Storage
from penstock.storage.checkpoint import numbers_in, parse_planned_batch, parse_source_log


def failed_batch_files(checkpoint_location: str, source_name: str) -> tuple[str, ...]:
    """Returns the paths of the files of `source_name` in the last planned, uncommitted micro-batch.

    Spark writes the planned batch to `offsets/N` and, when its rows are in the table, `commits/N`; the
    files of a named source stand in `sources/<source name>/<its own offset>`, every tenth of which is
    compacted to `<n>.compact`. Empty when every planned batch is committed.
    """
    checkpoint = Storage(checkpoint_location)
    planned = numbers_in(checkpoint, "offsets")
    if not planned or planned[-1] in numbers_in(checkpoint, "commits"):
        return ()
    end = _source_offset(checkpoint, planned[-1], source_name)
    start = _source_offset(checkpoint, planned[-2], source_name) if len(planned) > 1 else None
    if end is None:
        return ()
    first = -1 if start is None else start
    paths: list[str] = []
    for offset in range(first + 1, end + 1):
        paths.extend(_files_at(checkpoint, source_name, offset))
    return tuple(dict.fromkeys(paths))


def _source_offset(checkpoint: Storage, batch: int, source_name: str) -> int | None:
    offset = parse_planned_batch(checkpoint.read_bytes(f"offsets/{batch}")).offsets.get(source_name)
    return int(offset["logOffset"]) if isinstance(offset, dict) else None


def _files_at(checkpoint: Storage, source_name: str, offset: int) -> list[str]:
    for name in (f"{offset}", f"{offset}.compact"):
        location = f"sources/{source_name}/{name}"
        if checkpoint.exists(location):
            entries = parse_source_log(checkpoint.read_bytes(location))
            return [path_of_uri(entry["path"]) for entry in entries if entry["batchId"] == offset]
    return []
