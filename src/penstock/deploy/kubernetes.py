"""Manifests for Kubernetes: the driver as a Deployment or CronJob, and on `k8s://` what its executors need.

The objects are those of Kubernetes' API reference, the settings those of Spark's page "Running Spark on Kubernetes" in
client mode: the pod of the driver asks the API server for those of the executors.
"""

from __future__ import annotations

import io
import math
import re
from pathlib import PurePosixPath
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from penstock.deploy.deployment import DeployFile, Deployment
from penstock.errors import ConfigError

Manifest = dict[str, Any]

USER: Final = 10001
PROJECT: Final = "/pipeline"
DRIVER_POD: Final = "PENSTOCK_DRIVER_POD"
"""The variable with the name of the driver's pod: Spark makes it the owner of the executors, which end with it."""

_SETTINGS: Final = "/etc/penstock"
_EXECUTOR_COMMAND: Final = ["python", "-m", "penstock.spark.session.cluster.kubernetes_executor"]
_METRICS_PORT: Final = 9464
_PROBES: Final = ("/livez", "/readyz")
_DRIVER_PORT, _BLOCKS_PORT = 7078, 7079
_MEMORY: Final = re.compile(r"(\d+)\s*([kmgt]?)b?", re.IGNORECASE)
_MEBIBYTES: Final = {"": 1 / 1024**2, "k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2}
_PYTHON_MEMORY: Final = 1024
"""Mebibytes of the driver's Python, and of what Java needs beside its heap."""
_STATE_MEMORY: Final = 512
"""Mebibytes of RocksDB: its bound, `spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB`."""

_CONTAINER_SECURITY: Final = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
_POD_SECURITY: Final = {
    "runAsNonRoot": True,
    "runAsUser": USER,
    "runAsGroup": USER,
    "fsGroup": USER,
    "seccompProfile": {"type": "RuntimeDefault"},
}
_CONFIGURATION_IS_WRONG: Final = [2, 3]
"""Exit codes of `penstock run` after which another try ends alike."""


def manifests(deployment: Deployment, image: str | None) -> list[DeployFile]:
    """Returns the manifests, with a `kustomization.yaml` that names them all.

    `image` is the one of driver and executors; by default the one that the pipeline file names for the executors.

    Raises:
        ConfigError: DEPLOY_IMAGE_MISSING; DEPLOY_STORAGE_NOT_SHARED when executors could not see the storage;
            CONFIG_INVALID_VALUE for an interval that cron cannot express.
    """
    config = deployment.config
    image = image or config.spark_conf.get("spark.kubernetes.container.image")
    if not image:
        raise ConfigError("DEPLOY_IMAGE_MISSING")
    on_cluster = config.master.startswith("k8s://")
    if on_cluster and deployment.local_storage is not None:
        raise ConfigError("DEPLOY_STORAGE_NOT_SHARED", location=config.file, storage=config.storage)
    run = _deployment(deployment, image) if deployment.continuous else _cron_job(deployment, image)
    documents = {"serviceaccount": _accounts(deployment, on_cluster), run["kind"].lower(): [run]}
    if on_cluster:
        documents["configmap"] = [_config_map(deployment, image)]
        documents["networkpolicy"] = [_network_policy(deployment)]
        documents["poddisruptionbudget"] = [_disruption_budget(deployment)]
    elif deployment.local_storage is not None:
        documents["persistentvolumeclaim"] = [_volume_claim(deployment)]
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [f"{name}.yaml" for name in sorted(documents)],
    }
    files = [DeployFile(f"{name}.yaml", _yaml(*found)) for name, found in sorted(documents.items())]
    return [*files, DeployFile("kustomization.yaml", _yaml(kustomization))]


def _labels(deployment: Deployment, component: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "penstock",
        "app.kubernetes.io/instance": deployment.name,
        "app.kubernetes.io/component": component,
    }


def _object(deployment: Deployment, version: str, kind: str, name: str, **rest: Any) -> Manifest:
    metadata = {"name": name, "labels": _labels(deployment, "driver")}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def _accounts(deployment: Deployment, on_cluster: bool) -> list[Manifest]:
    """The identity of the driver; on a cluster with the rights that Spark uses, and an executors' one with none."""
    name = deployment.name
    driver = _object(deployment, "v1", "ServiceAccount", name, automountServiceAccountToken=on_cluster)
    if not on_cluster:
        return [driver]
    executor = _object(deployment, "v1", "ServiceAccount", f"{name}-executor", automountServiceAccountToken=False)
    rules = [
        {"apiGroups": [""], "resources": [resource], "verbs": verbs}
        for resource, verbs in (
            ("pods", ["create", "delete", "deletecollection", "get", "list", "patch", "watch"]),
            ("configmaps", ["create", "deletecollection"]),
            ("services", ["deletecollection"]),
            ("persistentvolumeclaims", ["deletecollection", "list"]),
        )
    ]
    role = _object(deployment, "rbac.authorization.k8s.io/v1", "Role", name, rules=rules)
    binding = _object(
        deployment,
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        name,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        subjects=[{"kind": "ServiceAccount", "name": name}],
    )
    return [driver, executor, role, binding]


def _deployment(deployment: Deployment, image: str) -> Manifest:
    labels = _labels(deployment, "driver")
    return _object(
        deployment,
        "apps/v1",
        "Deployment",
        deployment.name,
        spec={
            "replicas": 1,
            "strategy": {"type": "Recreate"},  # two drivers would wait for each other at the storage's lock
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": _driver_pod(deployment, image)},
        },
    )


def _cron_job(deployment: Deployment, image: str) -> Manifest:
    pod = {**_driver_pod(deployment, image), "restartPolicy": "Never"}
    ends = {"containerName": "driver", "operator": "In", "values": _CONFIGURATION_IS_WRONG}
    return _object(
        deployment,
        "batch/v1",
        "CronJob",
        deployment.name,
        spec={
            "schedule": deployment.cron(),
            "concurrencyPolicy": "Forbid",
            "startingDeadlineSeconds": 300,
            "jobTemplate": {
                "spec": {
                    "backoffLimit": 2,
                    "podFailurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": ends}]},
                    "ttlSecondsAfterFinished": 86_400,
                    "template": {"metadata": {"labels": _labels(deployment, "driver")}, "spec": pod},
                }
            },
        },
    )


def _driver_pod(deployment: Deployment, image: str) -> Manifest:
    config = deployment.config
    on_cluster = config.master.startswith("k8s://")
    mounts: list[Manifest] = [{"name": "tmp", "mountPath": "/tmp"}, {"name": "home", "mountPath": "/work"}]  # noqa: S108
    volumes: list[Manifest] = [{"name": "tmp", "emptyDir": {}}, {"name": "home", "emptyDir": {}}]
    if on_cluster:
        mounts.append({"name": "settings", "mountPath": _SETTINGS, "readOnly": True})
        volumes.append({"name": "settings", "configMap": {"name": deployment.name}})
    elif deployment.local_storage is not None:
        mounts.append({"name": "storage", "mountPath": str(_storage_mount(deployment))})
        volumes.append({"name": "storage", "persistentVolumeClaim": {"claimName": deployment.name}})
    for number, file in enumerate(each for each in deployment.secrets if each.source == "file"):
        path = PurePosixPath(PROJECT) / file.target
        mounts.append({"name": f"secret-{number}", "mountPath": str(path), "subPath": path.name, "readOnly": True})
        volumes.append({"name": f"secret-{number}", "secret": {"secretName": deployment.name}})
    container = {
        "name": "driver",
        "image": image,
        "args": _arguments(deployment),
        "workingDir": "/work",
        "env": _environment(deployment, on_cluster),
        "resources": _resources(deployment, on_cluster),
        "securityContext": _CONTAINER_SECURITY,
        "volumeMounts": mounts,
        **_probes(deployment),
    }
    return {
        "serviceAccountName": deployment.name,
        "automountServiceAccountToken": on_cluster,
        "securityContext": _POD_SECURITY,
        "terminationGracePeriodSeconds": deployment.stop_seconds,
        "containers": [container],
        "volumes": volumes,
    }


def _arguments(deployment: Deployment) -> list[str]:
    arguments = ["run", PROJECT, *deployment.options, *deployment.run_options]
    if deployment.continuous and deployment.config.metrics.port is None:
        arguments += ["--metrics-port", str(_METRICS_PORT)]
    return arguments


def _environment(deployment: Deployment, on_cluster: bool) -> list[Manifest]:
    found: list[Manifest] = [{"name": "HOME", "value": "/work"}]
    if on_cluster:
        found += [
            {"name": "SPARK_CONF_DIR", "value": _SETTINGS},
            # Executors reach the driver at this address: nothing resolves the name of a pod.
            {"name": "SPARK_LOCAL_HOSTNAME", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": DRIVER_POD, "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        ]
    for name in deployment.variables:
        found.append({"name": name, "valueFrom": {"secretKeyRef": {"name": deployment.name, "key": name}}})
    return found


def _resources(deployment: Deployment, on_cluster: bool) -> Manifest:
    """Memory for Java's heap, Python and state; processor time for the driver alone, or for its tasks too."""
    memory = mebibytes(deployment.config.spark_conf.get("spark.driver.memory", "2g")) + _PYTHON_MEMORY
    if not on_cluster:
        memory += _STATE_MEMORY
    limits = {"memory": f"{memory}Mi"}
    return {"requests": {"cpu": "1" if on_cluster else "2", **limits}, "limits": limits}


def mebibytes(text: str) -> int:
    """Returns an amount of memory as Spark writes it, such as `2g`, in mebibytes, rounded up; 2048 for other texts."""
    found = _MEMORY.fullmatch(text.strip())
    return math.ceil(int(found[1]) * _MEBIBYTES[found[2].lower()]) if found else 2048


def _probes(deployment: Deployment) -> Manifest:
    """The run is alive while it answers, and ready while its update is RUNNING; only a run that goes on is asked."""
    if not deployment.continuous:
        return {}
    metrics = deployment.config.metrics
    port = metrics.port or _METRICS_PORT
    probes: list[Manifest]
    if metrics.certificate is None:  # then it answers on the loopback interface only, where no kubelet is
        ask = "import urllib.request as r; r.urlopen('http://127.0.0.1:{}{}', timeout=5)"
        probes = [{"exec": {"command": ["python", "-c", ask.format(port, path)]}} for path in _PROBES]
    else:
        probes = [{"httpGet": {"path": path, "port": port, "scheme": "HTTPS"}} for path in _PROBES]
    live, ready = probes
    often = {"periodSeconds": 30, "timeoutSeconds": 10}
    return {
        "startupProbe": {**live, "periodSeconds": 5, "timeoutSeconds": 10, "failureThreshold": 60},
        "livenessProbe": {**live, **often, "failureThreshold": 4},
        "readinessProbe": {**ready, **often},
    }


def _config_map(deployment: Deployment, image: str) -> Manifest:
    executor = _object(deployment, "v1", "Pod", "executor", spec=_executor_pod())
    executor["metadata"] = {"labels": _labels(deployment, "executor")}
    settings = {
        "spark.kubernetes.container.image": image,
        "spark.kubernetes.executor.podTemplateFile": f"{_SETTINGS}/executor.yaml",
        "spark.kubernetes.executor.podTemplateContainerName": "executor",
        "spark.kubernetes.executor.podNamePrefix": deployment.name,
        "spark.kubernetes.authenticate.executor.serviceAccountName": f"{deployment.name}-executor",
        "spark.driver.bindAddress": "0.0.0.0",  # noqa: S104 - the network policy says who may come
        "spark.driver.port": str(_DRIVER_PORT),
        "spark.driver.blockManager.port": str(_BLOCKS_PORT),
        "spark.authenticate": "true",
        "spark.network.crypto.enabled": "true",
        "spark.io.encryption.enabled": "true",
    }
    lines = "".join(f"{key} {value}\n" for key, value in settings.items() if key not in deployment.config.spark_conf)
    data = {"executor.yaml": LiteralScalarString(_yaml(executor)), "spark-defaults.conf": LiteralScalarString(lines)}
    return _object(deployment, "v1", "ConfigMap", deployment.name, data=data)


def _executor_pod() -> Manifest:
    return {
        "automountServiceAccountToken": False,
        "securityContext": _POD_SECURITY,
        "containers": [
            {
                "name": "executor",
                "command": _EXECUTOR_COMMAND,
                "workingDir": "/work",  # where Spark puts the files that the driver sends
                "env": [{"name": "HOME", "value": "/work"}],
                "securityContext": _CONTAINER_SECURITY,
                "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}, {"name": "home", "mountPath": "/work"}],  # noqa: S108
            }
        ],
        "volumes": [{"name": "tmp", "emptyDir": {}}, {"name": "home", "emptyDir": {}}],
    }


def _network_policy(deployment: Deployment) -> Manifest:
    """Only this pipeline's executors may open a connection to its driver."""
    return _object(
        deployment,
        "networking.k8s.io/v1",
        "NetworkPolicy",
        deployment.name,
        spec={
            "podSelector": {"matchLabels": _labels(deployment, "driver")},
            "policyTypes": ["Ingress"],
            "ingress": [
                {
                    "from": [{"podSelector": {"matchLabels": _labels(deployment, "executor")}}],
                    "ports": [{"port": port, "protocol": "TCP"} for port in (_DRIVER_PORT, _BLOCKS_PORT)],
                }
            ],
        },
    )


def _disruption_budget(deployment: Deployment) -> Manifest:
    """Nodes are drained one executor at a time. The driver may be evicted: it stops after its batch."""
    return _object(
        deployment,
        "policy/v1",
        "PodDisruptionBudget",
        f"{deployment.name}-executor",
        spec={"maxUnavailable": 1, "selector": {"matchLabels": _labels(deployment, "executor")}},
    )


def _volume_claim(deployment: Deployment) -> Manifest:
    return _object(
        deployment,
        "v1",
        "PersistentVolumeClaim",
        deployment.name,
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "20Gi"}}},
    )


def _storage_mount(deployment: Deployment) -> PurePosixPath:
    """Where the storage is in the container: a folder of the project moves with it."""
    folder = deployment.local_storage
    assert folder is not None
    if folder.is_relative_to(deployment.config.directory):
        return PurePosixPath(PROJECT) / folder.relative_to(deployment.config.directory).as_posix()
    return PurePosixPath(folder.as_posix())


def _yaml(*documents: Manifest) -> str:
    writer = YAML()
    writer.explicit_start = len(documents) > 1
    writer.width = 120
    writer.representer.ignore_aliases = lambda *_: True  # read by people, too
    text = io.StringIO()
    writer.dump_all(documents, text)
    return text.getvalue()
