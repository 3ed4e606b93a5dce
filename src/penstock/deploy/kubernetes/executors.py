"""The executors' pods, and the file of settings with which Spark starts them."""

from __future__ import annotations

from typing import Final

from ruamel.yaml.scalarstring import LiteralScalarString

from penstock.config.profiles import SECURED
from penstock.deploy.deployment import Deployment
from penstock.deploy.kubernetes.objects import (
    BLOCKS_PORT,
    CONTAINER_SECURITY,
    DRIVER_PORT,
    HOME,
    POD_SECURITY,
    SETTINGS,
    Manifest,
    labels,
    object_of,
    writable_mounts,
    writable_volumes,
)
from penstock.deploy.yaml_text import yaml_text

_COMMAND: Final = ["python", "-m", "penstock.spark.session.cluster.kubernetes_executor"]


def config_map(deployment: Deployment, image: str) -> Manifest:
    """Returns the driver's `SPARK_CONF_DIR`: the executors' template, and settings that `spark_conf` lacks."""
    executor = object_of(deployment, "v1", "Pod", "executor", spec=_executor_pod())
    executor["metadata"] = {"labels": labels(deployment, "executor")}
    settings = {
        "spark.kubernetes.container.image": image,
        "spark.kubernetes.executor.podTemplateFile": f"{SETTINGS}/executor.yaml",
        "spark.kubernetes.executor.podTemplateContainerName": "executor",
        "spark.kubernetes.executor.podNamePrefix": deployment.name,
        "spark.kubernetes.authenticate.executor.serviceAccountName": f"{deployment.name}-executor",
        "spark.driver.bindAddress": "0.0.0.0",  # noqa: S104 - the network policy says who may come
        "spark.driver.port": str(DRIVER_PORT),
        "spark.driver.blockManager.port": str(BLOCKS_PORT),
        **{each.key: each.value for each in SECURED if isinstance(each.value, str)},
    }
    lines = "".join(f"{key} {value}\n" for key, value in settings.items() if key not in deployment.config.spark_conf)
    data = {
        "executor.yaml": LiteralScalarString(yaml_text(executor)),
        "spark-defaults.conf": LiteralScalarString(lines),
    }
    return object_of(deployment, "v1", "ConfigMap", deployment.name, data=data)


def _executor_pod() -> Manifest:
    return {
        "automountServiceAccountToken": False,
        "securityContext": POD_SECURITY,
        "containers": [
            {
                "name": "executor",
                "command": _COMMAND,
                "workingDir": HOME,
                "env": [{"name": "HOME", "value": HOME}],
                "securityContext": CONTAINER_SECURITY,
                "volumeMounts": writable_mounts(),
            }
        ],
        "volumes": writable_volumes(),
    }
