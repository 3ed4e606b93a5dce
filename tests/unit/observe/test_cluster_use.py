"""How many executors runs had, and how many were lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from penstock.events import Event, EventType
from penstock.events.cluster import ClusterResources, ClusterState, cluster_resources
from penstock.events.types import Level, Origin
from penstock.observe.flows.cluster_use import ClusterUse, ClusterUseProjection

BEGIN = datetime(2026, 11, 20, tzinfo=UTC)


def event(hours: float, kind: EventType, state: ClusterState | None = None, executors: int = 0) -> Event:
    details = {} if state is None else cluster_resources("yarn", ClusterResources(state, executors))[1]
    at = BEGIN + timedelta(hours=hours)
    return Event("e", 1, at, Origin("shop", "u"), Level.INFO, kind, "", details)


def use(*events: Event) -> ClusterUse:
    projection = ClusterUseProjection()
    for each in events:
        projection.apply(each)
    return projection.use()


def test_executor_hours_are_summed_and_losses_counted() -> None:
    found = use(
        event(0, EventType.CREATE_UPDATE),
        event(1, EventType.CLUSTER_RESOURCES, ClusterState.AVAILABLE, 4),
        event(3, EventType.CLUSTER_RESOURCES, ClusterState.EXECUTORS_LOST, 3),
        event(4, EventType.CLUSTER_RESOURCES, ClusterState.AVAILABLE, 4),
        event(5, EventType.CLUSTER_RESOURCES, ClusterState.NO_EXECUTORS, 0),
        event(6, EventType.UPDATE_PROGRESS),
    )
    assert found.lost == 1 + 4
    assert found.executor_hours == pytest.approx(2 * 4 + 1 * 3 + 1 * 4)


def test_time_between_runs_and_executors_given_back_do_not_count() -> None:
    found = use(
        event(0, EventType.CLUSTER_RESOURCES, ClusterState.AVAILABLE, 4),
        event(1, EventType.CLUSTER_RESOURCES, ClusterState.AVAILABLE, 2),
        event(2, EventType.UPDATE_PROGRESS),
        event(50, EventType.MAINTENANCE_PROGRESS),
        event(100, EventType.CREATE_UPDATE),
        event(101, EventType.UPDATE_PROGRESS),
    )
    assert found.lost == 0
    assert found.executor_hours == pytest.approx(4 + 2)


def test_a_local_master_has_none() -> None:
    assert use(event(0, EventType.CREATE_UPDATE), event(9, EventType.UPDATE_PROGRESS)) == ClusterUse()
