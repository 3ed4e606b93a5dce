"""All manifests of a pipeline.

The objects are those of Kubernetes' API reference, the settings those of Spark's page "Running Spark on Kubernetes" in
client mode: the pod of the driver asks the API server for those of the executors.
"""

from __future__ import annotations

from penstock.deploy.deployment import DeployFile, Deployment
from penstock.deploy.kubernetes.driver import driver, volume_claim
from penstock.deploy.kubernetes.executors import config_map
from penstock.deploy.kubernetes.rights import accounts, disruption_budget, network_policy
from penstock.deploy.yaml_text import yaml_text
from penstock.errors import ConfigError


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
    run = driver(deployment, image)
    documents = {"serviceaccount": accounts(deployment, on_cluster), run["kind"].lower(): [run]}
    if on_cluster:
        documents["configmap"] = [config_map(deployment, image)]
        documents["networkpolicy"] = [network_policy(deployment)]
        documents["poddisruptionbudget"] = [disruption_budget(deployment)]
    elif deployment.local_storage is not None:
        documents["persistentvolumeclaim"] = [volume_claim(deployment)]
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [f"{name}.yaml" for name in sorted(documents)],
    }
    files = [DeployFile(f"{name}.yaml", yaml_text(*found)) for name, found in sorted(documents.items())]
    return [*files, DeployFile("kustomization.yaml", yaml_text(kustomization))]
