"""What Kubernetes says of the executors' pods: no log of Spark mentions why a pod is pending."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.spark.session.driver_log import QUOTED


def pending_pod(context: Any) -> str | None:
    """Returns why a pod of the application does not run, as its status says; None when no pod is pending.

    `context` is the JVM's SparkContext. Spark's own client asks the API server, with Spark's rights.

    Raises:
        Py4JError: the API server does not answer, or the JVM has ended.
    """
    backend = context.schedulerBackend()
    namespace = context.getConf().get("spark.kubernetes.namespace", "default")
    pods = backend.kubernetesClient().pods().inNamespace(namespace)
    executors = pods.withLabel("spark-app-selector", backend.applicationId()).withLabel("spark-role", "executor")
    for pod in executors.list().getItems():
        for reason, message in _waits_for(pod.getStatus()):
            text = f"{reason}: {message}" if message else reason
            return f"pod {pod.getMetadata().getName()} is pending, {text}"[:QUOTED].rstrip(". ")
    return None


def _waits_for(status: Any) -> Iterator[tuple[str, str | None]]:
    for container in status.getContainerStatuses():
        waiting = container.getState().getWaiting()
        if waiting is not None:
            yield waiting.getReason(), waiting.getMessage()
    for condition in status.getConditions():
        if condition.getType() == "PodScheduled" and condition.getStatus() == "False":
            yield condition.getReason(), condition.getMessage()
