"""How many files the newest batches of each flow read, by the logs of its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from penstock.care.checkpoints.inventory import StoredCheckpoint
from penstock.care.doctor.facts import StorageFacts
from penstock.errors import PenstockError
from penstock.storage.checkpoint.committed_files import batches_of_files, files_of_steps
from penstock.storage.checkpoint.logs import DamagedFile, UnknownVersion
from penstock.storage.checkpoint.planned_files import file_steps
from penstock.storage.checkpoint.source_offsets import newest_offsets


def read_file_counts(facts: StorageFacts) -> Mapping[str, tuple[int, ...]]:
    """Returns the files of each batch, oldest first, by flow; without flows whose sources are others or several.

    Reads the logs of checkpoints in use only; one that is damaged has no counts, which `penstock doctor` reports.
    """
    found = {}
    for checkpoint in facts.verification.checked:
        with suppress(PenstockError, DamagedFile, UnknownVersion, OSError):
            counts = _counts(checkpoint)
            if counts:
                found[checkpoint.name] = counts
    return found


def _counts(checkpoint: StoredCheckpoint) -> tuple[int, ...]:
    uri = checkpoint.folder.uri
    offsets = newest_offsets(uri)
    sources = file_steps(offsets)
    if len(sources) != 1 or len(offsets) != 1:
        return ()
    [source] = sources
    steps = sorted({each.step for each in batches_of_files(uri, source)})
    if not steps:
        return ()
    known = {step: len(files) for step, files in files_of_steps(uri, source, steps[0], steps[-1])}
    return tuple(known[step] for step in steps if known.get(step))
