"""The manifests of `penstock deploy kubernetes`, with Spark's own Kubernetes client: all but the containers is real.

The API server is ours, and a pod is a process of this machine: driver and executors share its disk.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli_runner import penstock
from tests.integration.kubernetes_api import Kubelet, KubernetesApi
from tests.processes import free_ports
from tests.projects import orders_project

_POD = "orders-5d9f-abcde"
_ONLY_WHEN_EXECUTORS_GO = {("pods", "delete"), ("pods", "patch")}
"""When one is idle or decommissioned, which no run of a few seconds shows."""


@pytest.mark.timeout(600)
def test_the_quickstart_runs_on_executors_in_pods(tmp_path: Path) -> None:
    project = orders_project(tmp_path / "orders", files=4)
    with KubernetesApi() as api:
        few = "spark.executor.instances: 1, spark.executor.memory: 512m, spark.databricks.delta.snapshotPartitions: 1"
        project.add_settings(
            f"  spark.executor.cores: 2\nenvironments: {{cluster: {{master: '{api.master}', storage: 's3a://lake/orders',"
            f" spark_conf: {{{few}, spark.sql.shuffle.partitions: 2}}}}}}\n"
        )
        written = ("deploy", "kubernetes", project.directory, "--env", "cluster", "--image", "orders:1")
        penstock(*written, "--output", tmp_path / "manifests").expect(0)
        driver = _driver(tmp_path / "manifests")
        api.create("pods", {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": _POD}, "spec": driver})
        api.kubelet = kubelet = Kubelet(tmp_path / "pods")
        environ = {"SPARK_CONF_DIR": str(_mounted(tmp_path)), "SPARK_LOCAL_HOSTNAME": "127.0.0.1"}
        environ["PENSTOCK_DRIVER_POD"] = _POD
        assert environ.keys() <= {each["name"] for each in driver["containers"][0]["env"]}
        storage = ("--storage", project.directory / ".penstock")
        penstock("run", project.directory, "--env", "cluster", *storage, environ=environ, timeout=400).expect(0)
        [executor] = kubelet.pods
        assert executor["metadata"]["ownerReferences"][0]["name"] == _POD
        assert executor["metadata"]["labels"]["app.kubernetes.io/component"] == "executor"
        assert executor["spec"]["serviceAccountName"] == "orders-executor"
        assert executor["spec"]["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True
        granted = _granted(tmp_path / "manifests")
        assert api.verbs() <= granted
        assert granted - api.verbs() <= _ONLY_WHEN_EXECUTORS_GO
    project.assert_tables()


def _driver(folder: Path) -> dict[str, Any]:
    job = yaml.safe_load((folder / "cronjob.yaml").read_text())
    return dict(job["spec"]["jobTemplate"]["spec"]["template"]["spec"])


def _granted(folder: Path) -> set[tuple[str, str]]:
    [role] = [
        each for each in yaml.safe_load_all((folder / "serviceaccount.yaml").read_text()) if each["kind"] == "Role"
    ]
    return {(name, verb) for rule in role["rules"] for name in rule["resources"] for verb in rule["verbs"]}


def _mounted(tmp_path: Path) -> Path:
    """The config map as the kubelet would mount it, at another place and with ports that are free here."""
    folder = tmp_path / "settings"
    folder.mkdir()
    config_map = yaml.safe_load((tmp_path / "manifests/configmap.yaml").read_text())
    ports = free_ports(2)
    for name, text in config_map["data"].items():
        moved = text.replace("/etc/penstock", str(folder))
        moved = moved.replace("spark.driver.port 7078", f"spark.driver.port {ports[0]}")
        moved = moved.replace("spark.driver.blockManager.port 7079", f"spark.driver.blockManager.port {ports[1]}")
        (folder / name).write_text(moved)
    return folder
