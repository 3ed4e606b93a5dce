"""The driver: a pod that runs `penstock run`, in a Deployment or a CronJob."""

from __future__ import annotations

import math
import re
from typing import Final

from penstock.config.profiles import DRIVER_POD
from penstock.deploy.deployment import NO_RETRY, Deployment
from penstock.deploy.kubernetes.objects import (
    CONTAINER_SECURITY,
    HOME,
    POD_SECURITY,
    PROJECT,
    SETTINGS,
    Manifest,
    labels,
    object_of,
    storage_in_container,
    writable_mounts,
    writable_volumes,
)
from penstock.deploy.kubernetes.secrets import secret_key, secret_path

_METRICS_PORT: Final = 9464
_PROBES: Final = ("/livez", "/readyz")
_MEMORY: Final = re.compile(r"(\d+)\s*([kmgt]?)b?", re.IGNORECASE)
_MEBIBYTES: Final = {"": 1 / 1024**2, "k": 1 / 1024, "m": 1, "g": 1024, "t": 1024**2}
_PYTHON_MEMORY: Final = 1024
"""Mebibytes of the driver's Python, and of what Java needs beside its heap."""
_STATE_MEMORY: Final = 512
"""Mebibytes of RocksDB: its bound, `spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB`."""


def driver(deployment: Deployment, image: str) -> Manifest:
    """Returns the Deployment of a continuous run, else the CronJob that starts one at intervals.

    Raises:
        ConfigError: CONFIG_INVALID_VALUE for an interval that cron cannot express.
    """
    return _deployment(deployment, image) if deployment.continuous else _cron_job(deployment, image)


def _deployment(deployment: Deployment, image: str) -> Manifest:
    driver_labels = labels(deployment, "driver")
    return object_of(
        deployment,
        "apps/v1",
        "Deployment",
        deployment.name,
        spec={
            "replicas": 1,
            "strategy": {"type": "Recreate"},  # two drivers would wait for each other at the storage's lock
            "selector": {"matchLabels": driver_labels},
            "template": {"metadata": {"labels": driver_labels}, "spec": _driver_pod(deployment, image)},
        },
    )


def _cron_job(deployment: Deployment, image: str) -> Manifest:
    pod = {**_driver_pod(deployment, image), "restartPolicy": "Never"}
    ends = {"containerName": "driver", "operator": "In", "values": list(NO_RETRY)}
    return object_of(
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
                    "template": {"metadata": {"labels": labels(deployment, "driver")}, "spec": pod},
                }
            },
        },
    )


def _driver_pod(deployment: Deployment, image: str) -> Manifest:
    config = deployment.config
    on_cluster = config.master.startswith("k8s://")
    mounts, volumes = writable_mounts(), writable_volumes()
    if on_cluster:
        mounts.append({"name": "settings", "mountPath": SETTINGS, "readOnly": True})
        volumes.append({"name": "settings", "configMap": {"name": deployment.name}})
    elif (storage := storage_in_container(deployment)) is not None:
        mounts.append({"name": "storage", "mountPath": storage})
        volumes.append({"name": "storage", "persistentVolumeClaim": {"claimName": deployment.name}})
    for number, file in enumerate(each for each in deployment.secrets if each.source == "file"):
        place = {"mountPath": secret_path(file), "subPath": secret_key(file)}
        mounts.append({"name": f"secret-{number}", **place, "readOnly": True})
        volumes.append({"name": f"secret-{number}", "secret": {"secretName": deployment.name}})
    container = {
        "name": "driver",
        "image": image,
        "args": _arguments(deployment),
        "workingDir": HOME,
        "env": _environment(deployment, on_cluster),
        "resources": _resources(deployment, on_cluster),
        "securityContext": CONTAINER_SECURITY,
        "volumeMounts": mounts,
        **_probes(deployment),
    }
    return {
        "serviceAccountName": deployment.name,
        "automountServiceAccountToken": on_cluster,
        "securityContext": POD_SECURITY,
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
    found: list[Manifest] = [{"name": "HOME", "value": HOME}]
    if on_cluster:
        found += [
            {"name": "SPARK_CONF_DIR", "value": SETTINGS},
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
    """A continuous run is alive while it answers, and ready while its update is RUNNING; no other run is asked."""
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


def volume_claim(deployment: Deployment) -> Manifest:
    """Returns the claim of the volume for a storage on a disk."""
    return object_of(
        deployment,
        "v1",
        "PersistentVolumeClaim",
        deployment.name,
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "20Gi"}}},
    )
