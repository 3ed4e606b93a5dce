"""The logs of planned and of committed batches have no holes, and belong to each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from penstock.care.checkpoints.inventory import StoredCheckpoint
from penstock.errors import StateError
from penstock.storage.checkpoint import CheckpointFolder, DamagedFile, UnknownVersion, repartitions_state


def check(checkpoint: StoredCheckpoint) -> Iterator[StateError]:
    """Yields CHECKPOINT_FILE_MISSING, CHECKPOINT_BATCH_MISSING and CHECKPOINT_COMMIT_WITHOUT_OFFSETS.

    The newest batch may be planned and not committed: the next run finishes it.
    """
    folder = checkpoint.folder
    planned, committed = folder.numbers("offsets"), folder.numbers("commits")
    if folder.is_begun and "metadata" not in folder.files:
        yield checkpoint.refusal("CHECKPOINT_FILE_MISSING", file=f"{folder.uri}/metadata")
    if holes := _holes(planned):
        yield checkpoint.refusal("CHECKPOINT_BATCH_MISSING", log="offsets", batches=_listed(holes))
    # Spark deletes old offsets before it deletes their commits, so commits may begin earlier.
    orphans = [batch for batch in committed if not planned or batch > planned[-1]]
    if orphans:
        yield checkpoint.refusal("CHECKPOINT_COMMIT_WITHOUT_OFFSETS", batches=_listed(orphans))
    if not planned:
        return
    done = set(committed)
    begin = committed[0] if committed and planned[0] > 0 else planned[0]
    if missing := [batch for batch in range(begin, planned[-1]) if batch not in done]:
        yield checkpoint.refusal("CHECKPOINT_BATCH_MISSING", log="commits", batches=_listed(missing))
    if planned[-1] not in done and _repartitions_state(folder, planned):
        yield checkpoint.refusal("CHECKPOINT_FILE_MISSING", file=f"{folder.uri}/commits/{planned[-1]}")


def _repartitions_state(folder: CheckpointFolder, planned: Sequence[int]) -> bool:
    with suppress(DamagedFile, UnknownVersion, FileNotFoundError):  # the rule about files says so
        batches = [folder.planned_batch(number) for number in planned[-2:]]
        return len(batches) == 2 and repartitions_state(batches[1], batches[0])
    return False


def _holes(numbers: tuple[int, ...]) -> list[int]:
    if not numbers:
        return []
    present = set(numbers)
    return [number for number in range(numbers[0], numbers[-1]) if number not in present]


def _listed(batches: Sequence[int]) -> str:
    return ", ".join(map(str, batches[:10])) + (f" and {len(batches) - 10} more" if len(batches) > 10 else "")
