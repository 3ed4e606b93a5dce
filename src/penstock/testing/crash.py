"""A crash of the pipeline, as a test orders it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from penstock.storage import Storage
from penstock.storage.checkpoint.folder import numbers_in


class Crash(Enum):
    """A row that is none: in the step that it is fed for, the pipeline dies."""

    CRASH = "crash"


CRASH = Crash.CRASH
"""See `PipelineUnderTest.feed`."""


def newest_commit(checkpoint: str) -> int | None:
    """Returns the newest batch that a checkpoint knows as done."""
    return next(reversed(numbers_in(Storage(checkpoint), "commits")), None)


def forget_newest_commits(since: Mapping[str, int | None]) -> None:
    """Takes checkpoints back to how a crash leaves them that comes when the rows of the newest batch have been written.

    `since` has the newest batch that each knew before; one with no batch since then stays as it is.
    """
    for checkpoint, before in since.items():
        batch = newest_commit(checkpoint)
        if batch is not None and batch != before:
            Storage(checkpoint).delete(f"commits/{batch}")
            Storage(checkpoint).delete(f"commits/.{batch}.crc")
