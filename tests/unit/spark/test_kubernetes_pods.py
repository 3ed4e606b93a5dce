"""The reason in a pod's status, as the clients of Kubernetes return it."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock, Mock

import pytest

from penstock.spark.session.cluster.kubernetes_pods import pending_pod


def _container(waiting: Any) -> Mock:
    container = Mock()
    container.getState().getWaiting.return_value = waiting
    return container


def _pod(name: str, *, waiting: Any = None, conditions: tuple[Any, ...] = ()) -> Mock:
    pod = Mock()
    pod.getMetadata().getName.return_value = name
    pod.getStatus().getContainerStatuses.return_value = [_container(waiting)]
    pod.getStatus().getConditions.return_value = list(conditions)
    return pod


def _condition(kind: str, status: str, reason: str, message: str | None) -> Mock:
    return Mock(
        **{
            "getType.return_value": kind,
            "getStatus.return_value": status,
            "getReason.return_value": reason,
            "getMessage.return_value": message,
        }
    )


_WAITS = Mock(**{"getReason.return_value": "ImagePullBackOff", "getMessage.return_value": None})
_READY = _condition("Ready", "False", "ContainersNotReady", None)
_ROOM = _condition("PodScheduled", "False", "Unschedulable", "0/3 nodes are available.")


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([], None),
        ([_pod("x-1", conditions=(_READY,))], None),
        ([_pod("x-1"), _pod("x-2", waiting=_WAITS)], "pod x-2 is pending, ImagePullBackOff"),
        (
            [_pod("x-1", conditions=(_READY, _ROOM))],
            "pod x-1 is pending, Unschedulable: 0/3 nodes are available",
        ),
    ],
)
def test_why_a_pod_is_pending(pods: list[Mock], expected: str | None) -> None:
    context = MagicMock()
    client = context.schedulerBackend().kubernetesClient().pods().inNamespace()
    client.withLabel().withLabel().list().getItems.return_value = pods
    assert pending_pod(context) == expected
