"""A run on Kubernetes that gets no executors says why: what the API server refused, or what its pods wait for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cli_runner import own_process, penstock, running
from tests.integration.kubernetes_api import (
    KubernetesApi,
    Refusal,
    forbidden,
    image_cannot_be_pulled,
    unschedulable,
)

from penstock.events import ClusterState, EventType, cluster_resources_of, read_events

_IMAGE = "registry.example/spark:none"
_CONF = f"{{spark.kubernetes.container.image: '{_IMAGE}', spark.executor.instances: 1, spark.driver.memory: 512m}}"
_QUOTA = 'pods "small-exec-1" is forbidden: exceeded quota: compute, requested: requests.memory=1408Mi'
_ROOM = "0/3 nodes are available: 3 Insufficient memory."


def _project(folder: Path, api: KubernetesApi) -> Path:
    (folder / "in").mkdir()
    (folder / "in/1.json").write_text('{"id": 1}\n')
    (folder / "pipeline.py").write_text(
        "import dlt\n\n@dlt.table\ndef rows():\n    return spark.readStream.schema('id LONG').json('in')\n"
    )
    (folder / "penstock.yml").write_text(
        f"name: small\nmaster: {api.master}\ncluster_timeout: 15 seconds\nspark_conf: {_CONF}\n"
    )
    return folder


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (forbidden("create", "configmaps"), 'cannot create resource "configmaps"'),
        pytest.param(forbidden("watch", "pods"), "Forbidden (GET /api/v1/", marks=pytest.mark.slow),
        pytest.param(Refusal(401, "Unauthorized"), "Unauthorized (", marks=pytest.mark.slow),
        pytest.param(Refusal(403, _QUOTA, "POST", "pods"), _QUOTA, marks=pytest.mark.slow),
    ],
    ids=["no right to create", "no right to watch", "wrong token", "quota"],
)
def test_what_the_api_server_refuses_ends_the_run(tmp_path: Path, refusal: Refusal, reason: str) -> None:
    with KubernetesApi([refusal]) as api:
        outcome = penstock("run", _project(tmp_path, api), "--json").expect(1)
    error = outcome.error("KUBERNETES_REFUSED")
    assert reason in error["message"]
    assert "kubectl auth can-i --list" in error["fix"]


def test_a_missing_image_ends_the_start(tmp_path: Path) -> None:
    """Spark would ask for executors again and again."""
    with KubernetesApi() as api:
        project = _project(tmp_path, api)
        settings = project / "penstock.yml"
        settings.write_text(settings.read_text().replace("spark.kubernetes.container.image", "spark.app.name"))
        [error] = own_process("run", project, "--json").expect(2).errors
    assert error["condition"] == "KUBERNETES_IMAGE_MISSING"
    assert "spark.kubernetes.container.image" in error["fix"]


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (image_cannot_be_pulled(_IMAGE), f'ErrImagePull: failed to pull and unpack image "{_IMAGE}"'),
        pytest.param(unschedulable(_ROOM), "Unschedulable: 0/3 nodes", marks=pytest.mark.slow),
    ],
    ids=["image", "no room"],
)
def test_what_a_pending_pod_waits_for_is_reported(tmp_path: Path, status: dict[str, Any], reason: str) -> None:
    with KubernetesApi(pod_status=status) as api:
        project = _project(tmp_path, api)
        with running("run", project) as command:
            command.wait_for(lambda: bool(_told(project)), what="what became of the executors", timeout=200)
    [(state, error)] = _told(project)
    assert state is ClusterState.NO_EXECUTORS
    assert error["condition"] == "CLUSTER_NO_EXECUTORS"
    assert reason in error["message"]
    assert "kubectl describe pod" in error["fix"]


def _told(project: Path) -> list[tuple[ClusterState, dict[str, Any]]]:
    """What the events say of the cluster."""
    if not (project / ".penstock/events").exists():
        return []
    events = read_events(str(project / ".penstock"), types={EventType.CLUSTER_RESOURCES})
    found = [(cluster_resources_of(event), event.error) for event in events]
    return [(resources.state, dict(error or {})) for resources, error in found if resources is not None]
