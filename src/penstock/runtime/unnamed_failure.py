"""Looks for a damaged file behind a failure whose own words name no cause."""

from __future__ import annotations

from contextlib import suppress

from penstock.errors import PenstockError, StateError
from penstock.storage.checkpoint import CheckpointFolder, UnknownVersion, damage_of, state_version


def damaged_checkpoint(checkpoint: str, *, dataset: str, flow: str) -> StateError | None:
    """Returns CHECKPOINT_FILE_DAMAGED for the first damaged file of a checkpoint; None when there is none.

    The versions of the state are left out: they can be large, and Spark says itself when it cannot load one.
    """
    with suppress(PenstockError):  # what keeps this from being read has its own name somewhere else
        folder = CheckpointFolder.open(checkpoint)
        for name in folder.files:
            with suppress(UnknownVersion, FileNotFoundError):
                if state_version(name) is None and (reason := damage_of(folder, name)) is not None:
                    file = folder.files[name].uri
                    return StateError(
                        "CHECKPOINT_FILE_DAMAGED", dataset=dataset, flow=flow, file=file, reason=reason, name=dataset
                    )
    return None
