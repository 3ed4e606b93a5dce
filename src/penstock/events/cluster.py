"""What the cluster of a run offers: the details of a `cluster_resources` event."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from penstock.errors.text import clean, plural
from penstock.events.codec import fields_to_json
from penstock.events.flows.facts import details_of
from penstock.events.types import Event, EventType


class ClusterState(Enum):
    """What the executors of a run are doing, and the master.

    AVAILABLE: as many executors as there were. EXECUTORS_LOST: some are gone, others work. NO_EXECUTORS: none is left,
    or none has come yet. MASTER_LOST: the driver has no master; executors that it has go on.
    """

    AVAILABLE = "AVAILABLE"
    EXECUTORS_LOST = "EXECUTORS_LOST"
    NO_EXECUTORS = "NO_EXECUTORS"
    MASTER_LOST = "MASTER_LOST"


@dataclass(frozen=True, slots=True)
class ClusterResources:
    """The state of the cluster, and how many executors are registered with the driver."""

    state: ClusterState
    num_executors: int

    @property
    def stalled(self) -> bool:
        """Whether no task can run."""
        return self.num_executors == 0 and self.state in {ClusterState.NO_EXECUTORS, ClusterState.MASTER_LOST}


def cluster_resources(master: str, resources: ClusterResources) -> tuple[str, dict[str, Any]]:
    """Returns message and details of the event; append it with Level.WARN and the error when something is lost."""
    lost = {ClusterState.EXECUTORS_LOST: "executors lost, ", ClusterState.MASTER_LOST: "master lost, "}
    message = f"{clean(master)}: {lost.get(resources.state, '')}{plural(resources.num_executors, 'executor')}"
    return message, {EventType.CLUSTER_RESOURCES.value: fields_to_json(resources)}


def cluster_resources_of(event: Event) -> ClusterResources | None:
    """Returns what a `cluster_resources` event says; None of another event, and of states of later versions."""
    if event.event_type is not EventType.CLUSTER_RESOURCES:
        return None
    details = details_of(event)
    try:
        return ClusterResources(ClusterState(details.get("state")), int(details.get("num_executors", 0)))
    except (TypeError, ValueError):
        return None
