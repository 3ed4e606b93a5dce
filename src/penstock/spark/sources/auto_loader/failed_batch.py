"""The files of the micro-batch that a failed query left uncommitted, from its checkpoint."""

from __future__ import annotations

import json

from penstock.spark.sources.auto_loader.discovery import path_of_uri
from penstock.storage import Storage


def failed_batch_files(checkpoint_location: str, source_name: str) -> tuple[str, ...]:
    """Returns the paths of the files of `source_name` in the last planned, uncommitted micro-batch.

    Spark writes the planned batch to `offsets/N` and, when its rows are in the table, `commits/N`; the
    files of a named source stand in `sources/<source name>/<its own offset>`, every tenth of which is
    compacted to `<n>.compact`. Empty when every planned batch is committed.
    """
    checkpoint = Storage(checkpoint_location)
    planned = _batches(checkpoint, "offsets")
    if not planned or planned[-1] in _batches(checkpoint, "commits"):
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


def _batches(checkpoint: Storage, log: str) -> list[int]:
    return sorted(int(file.name) for file in checkpoint.list(log) if file.name.isdecimal())


def _source_offset(checkpoint: Storage, batch: int, source_name: str) -> int | None:
    for line in checkpoint.read_text(f"offsets/{batch}").splitlines():
        name, _, offset = line.partition(":")
        if name == source_name and offset.startswith("{"):
            return int(json.loads(offset)["logOffset"])
    return None


def _files_at(checkpoint: Storage, source_name: str, offset: int) -> list[str]:
    for name in (f"{offset}", f"{offset}.compact"):
        location = f"sources/{source_name}/{name}"
        if checkpoint.exists(location):
            entries = (json.loads(line) for line in checkpoint.read_text(location).splitlines()[1:] if line)
            return [path_of_uri(entry["path"]) for entry in entries if entry["batchId"] == offset]
    return []
