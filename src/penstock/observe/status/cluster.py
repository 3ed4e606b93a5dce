"""What has become of the cluster of the newest update."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from penstock.events import ClusterResources, ClusterState, Event, cluster_resources_of
from penstock.events.codec import fields_to_json, format_timestamp


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """The cluster as of its newest event.

    `since` is the time of that event, `error` what is wrong, `{condition, message, fix, …}`, None when nothing is.
    """

    resources: ClusterResources
    since: datetime
    error: Mapping[str, Any] | None = None

    @property
    def stalled(self) -> bool:
        """Whether no task can run."""
        return self.resources.stalled

    @property
    def master_lost(self) -> bool:
        """Whether the driver has no master."""
        return self.resources.state is ClusterState.MASTER_LOST

    def to_json(self) -> dict[str, Any]:
        """Returns the `cluster` part of `status --json`."""
        error = None if self.error is None else dict(self.error)
        return {**fields_to_json(self.resources), "since": format_timestamp(self.since), "error": error}


class ClusterProjection:
    """Kept up to date event by event. Not thread-safe."""

    def __init__(self) -> None:
        self._update_id: str | None = None
        self._status: ClusterStatus | None = None

    def apply(self, event: Event) -> None:
        """Takes one event into account; a new update begins with an unknown cluster."""
        if event.event_type.of_its_update and event.origin.update_id != self._update_id:
            self._update_id, self._status = event.origin.update_id, None
        resources = cluster_resources_of(event)
        if resources is not None:
            self._status = ClusterStatus(resources, event.timestamp, event.error)

    def status(self) -> ClusterStatus | None:
        """Returns the cluster of the newest update; None of a local master, and before there is anything to say."""
        return self._status
