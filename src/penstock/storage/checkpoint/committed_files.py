"""The files that a query has read from a file source, and whose rows its target has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock.storage.checkpoint.folder import numbers_in
from penstock.storage.checkpoint.logs import (
    DamagedFile,
    PlannedBatch,
    UnknownVersion,
    newest_entries,
    parse_commit,
    parse_planned_batch,
    parse_source_log,
)
from penstock.storage.checkpoint.planned_files import PlannedFile, file_steps, planned_file
from penstock.storage.filesystem import Storage

_YOUNG_SECONDS: Final = 600.0


def committed_step(checkpoint_uri: str, source: str) -> int | None:
    """Returns the last step of a file source that a committed batch has read; None when there is none."""
    return next(committed_steps(checkpoint_uri), {}).get(source)


def committed_steps(checkpoint_uri: str) -> Iterator[dict[str, int]]:
    """Yields for each committed batch, the newest first, the last step that it has read of each file source.

    A commit that cannot be read proves nothing, and is left out.
    """
    return (file_steps(plan.offsets) for _, plan in _commits(Storage(checkpoint_uri)))


@dataclass(frozen=True, slots=True)
class BatchOfFiles:
    """A committed batch: the last step of a file source that it has read, and when it was planned and committed.

    Times are in seconds since 1970; None where it is not recorded.
    """

    step: int
    planned: float | None
    committed: float | None


def batches_of_files(checkpoint_uri: str, source: str) -> list[BatchOfFiles]:
    """Returns the committed batches of a file source that Spark still keeps, the oldest first."""
    checkpoint = Storage(checkpoint_uri)
    written = {file.name: file.modified for file in checkpoint.list("commits")}
    found = [
        BatchOfFiles(steps[source], plan.planned_ms / 1000 if plan.planned_ms else None, written.get(str(batch)))
        for batch, plan in _commits(checkpoint)
        if source in (steps := file_steps(plan.offsets))
    ]
    return found[::-1]


def _commits(checkpoint: Storage) -> Iterator[tuple[int, PlannedBatch]]:
    planned = set(numbers_in(checkpoint, "offsets"))
    for batch in reversed(numbers_in(checkpoint, "commits")):
        if batch not in planned:
            continue
        try:
            parse_commit(checkpoint.read_bytes(f"commits/{batch}"))
            yield batch, parse_planned_batch(checkpoint.read_bytes(f"offsets/{batch}"))
        except (DamagedFile, UnknownVersion, FileNotFoundError):  # a running query deletes its old ones
            continue


def files_changed_after(checkpoint_uri: str, source: str, first: int, last: int) -> Iterator[str]:
    """Yields files of the steps that were young when a query found them, and that were written to since.

    Their writer was not done: what came later was never read. Only local files; an object store shows whole ones.
    """
    checkpoint = Storage(checkpoint_uri)
    log = checkpoint.list(f"sources/{source}")
    found_at = {file.name.removesuffix(".compact"): file.modified or 0.0 for file in log}
    for step, files in files_of_steps(checkpoint_uri, source, first, last):
        since = (found_at.get(str(step), float("inf")) - _YOUNG_SECONDS) * 1000
        for file in files:
            if file.listed_ms >= since and "://" not in file.path:
                present = Storage(file.path).find("")
                if present is not None and not file.is_as_listed(present.modified):
                    yield file.path


def files_of_steps(checkpoint_uri: str, source: str, first: int, last: int) -> Iterator[tuple[int, list[PlannedFile]]]:
    """Yields the steps of a file source from `first` to `last` in order, each with the files that it found.

    Raises:
        DamagedFile, UnknownVersion: the source's log cannot be read.
        FileNotFoundError: a step is missing.
    """
    checkpoint = Storage(checkpoint_uri)
    folder = f"sources/{source}"
    names = [file.name for file in checkpoint.list(folder)]
    plain = {int(name) for name in names if name.isdecimal()}
    compacted = max((int(name.removesuffix(".compact")) for name in names if name.endswith(".compact")), default=-1)
    from_compacted: dict[int, list[PlannedFile]] | None = None
    for step in range(first, last + 1):
        if step in plain:
            entries = parse_source_log(checkpoint.read_bytes(f"{folder}/{step}"))
            yield step, [planned_file(entry) for entry in entries if entry["batchId"] == step]
        elif step > compacted:
            raise FileNotFoundError(checkpoint.resolve(f"{folder}/{step}"))
        else:  # Spark deletes the steps that a compacted file holds
            if from_compacted is None:
                from_compacted = _since(checkpoint.read_bytes(f"{folder}/{compacted}.compact"), first)
            yield step, from_compacted.get(step, [])


def _since(content: bytes, first: int) -> dict[int, list[PlannedFile]]:
    """Returns by step the files of a compacted log from step `first` on; they are at its end, after all others."""
    found: dict[int, list[PlannedFile]] = {}
    for entry in newest_entries(content):
        if entry["batchId"] < first:
            break
        found.setdefault(entry["batchId"], []).append(planned_file(entry))
    return found
