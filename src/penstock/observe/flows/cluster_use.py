"""How many executors a pipeline's runs had for how long, and how many of them were lost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from penstock.events import Event, EventType
from penstock.events.cluster import ClusterState, cluster_resources_of

_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class ClusterUse:
    """The executors of all runs: hours summed over each of them, and how many were lost while a run went on."""

    executor_hours: float = 0.0
    lost: int = 0


class ClusterUseProjection:
    """The use of the cluster, kept up to date event by event; zero on a local master. Not thread-safe."""

    def __init__(self) -> None:
        self._executors = 0
        self._known_until: datetime | None = None
        self._seconds = 0.0
        self._lost = 0

    def apply(self, event: Event) -> None:
        """Takes one event into account."""
        if not event.event_type.of_its_update:
            return
        if event.event_type is EventType.CREATE_UPDATE:
            self._executors = 0
        if self._executors and self._known_until is not None:
            self._seconds += self._executors * max((event.timestamp - self._known_until).total_seconds(), 0.0)
        self._known_until = event.timestamp
        resources = cluster_resources_of(event)
        if resources is not None:
            if resources.state in {ClusterState.EXECUTORS_LOST, ClusterState.NO_EXECUTORS}:
                self._lost += max(self._executors - resources.num_executors, 0)
            self._executors = resources.num_executors

    def use(self) -> ClusterUse:
        """Returns the use as of the last event."""
        return ClusterUse(self._seconds / _HOUR, self._lost)
