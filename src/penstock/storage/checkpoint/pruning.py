"""Removes checkpoints that nothing goes back to: those of former generations, and copies that commands kept."""

from __future__ import annotations

from penstock.storage.filesystem import Storage


def former_checkpoints(storage: Storage, checkpoints: str, *, generation: int, before: float) -> list[str]:
    """Returns what may go of the folder of a flow's `checkpoints`, none of which was written to since `before`.

    That is in seconds since 1970. The present `generation` and newer ones stay.
    """
    found = []
    for entry in storage.list(checkpoints):
        number, dot, _ = entry.name.partition(".")
        former = number.isdecimal() and entry.is_directory and (bool(dot) or int(number) < generation)
        if former and _newest_change(storage, entry.uri) < before:
            found.append(entry.uri)
    return found


def _newest_change(storage: Storage, checkpoint: str) -> float:
    """When a checkpoint or a change log was last written to; endless when the storage has no times."""
    times = [
        entry.modified
        for folder in ("", "/offsets", "/commits", "/_delta_log")
        for entry in storage.list(checkpoint + folder)
    ]
    return max((float("inf") if time is None else time for time in times), default=0.0)
