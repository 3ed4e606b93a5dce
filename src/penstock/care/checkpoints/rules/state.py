"""The state that the next start loads is there."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.care.checkpoints.inventory import StoredCheckpoint
from penstock.errors import StateError
from penstock.storage.checkpoint import missing_state_files, operators

_SCHEMAS = ("_metadata/schema", "_stateSchema/")


def check(checkpoint: StoredCheckpoint) -> Iterator[StateError]:
    """Yields CHECKPOINT_FILE_MISSING: an operator's description or schema, or a version of its state."""
    folder = checkpoint.folder
    if folder.committed is None:
        return
    for missing in sorted(set(_missing(checkpoint, version=folder.committed + 1))):
        yield checkpoint.refusal(
            "CHECKPOINT_FILE_MISSING",
            file=f"{folder.uri}/{missing}",
        )


def _missing(checkpoint: StoredCheckpoint, *, version: int) -> Iterator[str]:
    folder = checkpoint.folder
    for number, operator in operators(folder):
        names = list(folder.below(f"state/{number}"))
        if not any(name.endswith(_SCHEMAS[0]) or name.startswith(_SCHEMAS[1]) for name in names):
            yield f"state/{number}/0/_metadata/schema"
        if operator is None:
            if not any(name.startswith("_metadata/") for name in names):
                yield f"state/{number}/_metadata/metadata"
            continue
        yield from missing_state_files(folder, operator, version)
