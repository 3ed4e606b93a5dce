"""The files of the micro-batch that a failed query left uncommitted, from its checkpoint."""

from __future__ import annotations

from urllib.parse import unquote

from penstock.storage import Storage
from penstock.storage.checkpoint.folder import numbers_in
from penstock.storage.checkpoint.logs import parse_planned_batch, parse_source_log
from penstock.storage.checkpoint.planned_files import file_steps


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
    plans = [parse_planned_batch(checkpoint.read_bytes(f"offsets/{batch}")) for batch in planned[-2:]]
    *before, end = (file_steps(plan.offsets).get(source_name, -1) for plan in plans)
    steps = range(max(before, default=-1) + 1, end + 1)
    return tuple(dict.fromkeys(path for step in steps for path in _files_at(checkpoint, source_name, step)))


def _files_at(checkpoint: Storage, source_name: str, step: int) -> list[str]:
    for name in (f"{step}", f"{step}.compact"):
        location = f"sources/{source_name}/{name}"
        if checkpoint.exists(location):
            entries = parse_source_log(checkpoint.read_bytes(location))
            return [unquote(entry["path"]) for entry in entries if entry["batchId"] == step]
    return []
