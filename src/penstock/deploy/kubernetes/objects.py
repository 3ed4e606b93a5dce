"""What the manifests share: names, labels, and how a container runs: without root, on a disk that is read only."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, Final

from penstock.deploy.deployment import Deployment

Manifest = dict[str, Any]

USER: Final = 10001
PROJECT: Final = "/pipeline"
HOME: Final = "/work"
"""Also the working directory: of an executor, Spark puts there the files that the driver sends."""
SETTINGS: Final = "/etc/penstock"
DRIVER_PORT: Final = 7078
BLOCKS_PORT: Final = 7079

CONTAINER_SECURITY: Final = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
POD_SECURITY: Final = {
    "runAsNonRoot": True,
    "runAsUser": USER,
    "runAsGroup": USER,
    "fsGroup": USER,
    "seccompProfile": {"type": "RuntimeDefault"},
}
_WRITABLE: Final = {"tmp": "/tmp", "home": HOME}  # noqa: S108 - a folder of this pod alone


def writable_mounts() -> list[Manifest]:
    """Returns the mounts of the folders into which a container may write."""
    return [{"name": name, "mountPath": path} for name, path in _WRITABLE.items()]


def writable_volumes() -> list[Manifest]:
    """Returns the volumes behind `writable_mounts`: empty, and gone with the pod."""
    return [{"name": name, "emptyDir": {}} for name in _WRITABLE]


def labels(deployment: Deployment, component: str) -> dict[str, str]:
    """Returns the labels of `component`, which is `driver` or `executor`."""
    return {
        "app.kubernetes.io/name": "penstock",
        "app.kubernetes.io/instance": deployment.name,
        "app.kubernetes.io/component": component,
    }


def object_of(deployment: Deployment, version: str, kind: str, name: str, **rest: Any) -> Manifest:
    """Returns an object of the API, labelled as part of the driver; `rest` is what it has beside its metadata."""
    metadata = {"name": name, "labels": labels(deployment, "driver")}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def storage_in_container(deployment: Deployment) -> str | None:
    """Returns where a storage on a disk is in the container: a folder of the project moves with it."""
    folder, project = deployment.local_storage, deployment.config.directory
    if folder is None:
        return None
    return str(PROJECT / PurePosixPath(folder.relative_to(project) if folder.is_relative_to(project) else folder))
