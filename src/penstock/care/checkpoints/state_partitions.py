"""Into how many partitions the state of a flow is divided.

Spark 4.2 has the number in the state's own files; before, it was among the settings of the checkpoint.
"""

from __future__ import annotations

from penstock.graph.identifier import Identifier
from penstock.observe.flows.definitions import FlowDefinition
from penstock.storage import Storage, StorageLayout
from penstock.storage.checkpoint.folder import numbers_in
from penstock.storage.checkpoint.partitions import SHUFFLE_PARTITIONS
from penstock.storage.checkpoint.state import state_partitions


def partitions_of(definition: FlowDefinition | None, stored: int | None) -> int | None:
    """Returns the number that is `stored` in the state's files, else the recorded one; None if neither is known."""
    checkpoint = None if definition is None else definition.checkpoint
    recorded = "" if checkpoint is None else checkpoint.settings.get(SHUFFLE_PARTITIONS, "")
    return stored or (int(recorded) if recorded.isdecimal() else None)


def stored_partitions(layout: StorageLayout, dataset: Identifier, flow: str) -> int | None:
    """Returns the number in the state's files of the newest generation of a flow's checkpoint; None without one.

    Raises:
        ConfigError: STORAGE_NOT_READABLE.
    """
    generations = numbers_in(Storage(layout.uri), layout.checkpoints(dataset, flow))
    return state_partitions(Storage(layout.checkpoint(dataset, flow, generations[-1]))) if generations else None
