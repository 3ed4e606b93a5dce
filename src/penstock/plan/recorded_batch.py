"""A batch that a flow has done, as its checkpoint and its table record it."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.graph.identifier import Identifier
from penstock.storage.checkpoint import CheckpointFolder


@dataclass(frozen=True, slots=True)
class RecordedBatch:
    """A finished batch of a flow, with all that it takes to run it again.

    `label` is what commands call the flow, `folder` its checkpoint, `path` the table. The batch made `version` of the
    table, None when it had no rows to write; `before` is the version that it found.
    """

    dataset: Identifier
    flow: str
    label: str
    number: int
    folder: CheckpointFolder
    path: str
    before: int
    version: int | None
