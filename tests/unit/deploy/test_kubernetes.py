"""Manifests of Kubernetes: valid by the API's published schemas, and what they say of the run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from tests.unit.deploy.conftest import ON_CLUSTER, Deploy

from penstock.deploy.deployment import DeployFile
from penstock.deploy.kubernetes.driver import mebibytes
from penstock.deploy.kubernetes.manifests import manifests
from penstock.deploy.kubernetes.secrets import secret_command
from penstock.errors import ConfigError

_API = "1.33"
_FILES = {  # as the pipeline file has them: where the container reads them, and their entries of the secret
    "/run/secrets/ca.pem": ("/run/secrets/ca.pem", "run-secrets-ca.pem"),
    "../keys/ca.pem": ("/keys/ca.pem", "keys-ca.pem"),
    "own key.pem": ("/pipeline/own key.pem", "own-key.pem"),
    "~/.kafka/key.pem": ("/work/.kafka/key.pem", "kafka-key.pem"),
}
_SECRETS = (
    "secrets: {kafka: '${env:KAFKA_PASSWORD}', "
    + ", ".join(f"file{number}: '${{file:{file}}}'" for number, file in enumerate(_FILES))
    + "}\n"
)
_CONTINUOUS = "continuous: true\n"


def _documents(files: list[DeployFile]) -> list[dict[str, Any]]:
    return [each for file in files if file.path != "kustomization.yaml" for each in yaml.safe_load_all(file.text)]


def _of_kind(files: list[DeployFile], kind: str) -> dict[str, Any]:
    [found] = [each for each in _documents(files) if each["kind"] == kind]
    return found


@pytest.mark.parametrize("storage", ["", ON_CLUSTER], ids=["one pod", "executors"])
@pytest.mark.parametrize("mode", ["", _CONTINUOUS], ids=["at intervals", "continuous"])
def test_each_object_is_valid_by_the_schema_of_the_api(deploy: Deploy, storage: str, mode: str) -> None:
    files = manifests(deploy(storage + mode + _SECRETS), "registry/orders:1")
    documents = _documents(files)
    for each in documents:
        kubernetes_validate.validate(each, _API, strict=True)
    kinds = {each["kind"] for each in documents}
    assert ("Deployment" if mode else "CronJob") in kinds
    on_cluster = {"ConfigMap", "NetworkPolicy", "PodDisruptionBudget", "Role", "RoleBinding"}
    assert kinds & {*on_cluster, "PersistentVolumeClaim"} == (on_cluster if storage else {"PersistentVolumeClaim"})
    [kustomization] = [yaml.safe_load(each.text) for each in files if each.path == "kustomization.yaml"]
    assert sorted(kustomization["resources"]) == sorted(
        each.path for each in files if each.path != "kustomization.yaml"
    )


def test_a_schedule_never_starts_a_second_run_and_retries_no_wrong_definition(deploy: Deploy) -> None:
    job = _of_kind(manifests(deploy(every=900.0), "orders:1"), "CronJob")["spec"]
    assert (job["schedule"], job["concurrencyPolicy"]) == ("*/15 * * * *", "Forbid")
    [rule] = job["jobTemplate"]["spec"]["podFailurePolicy"]["rules"]
    assert (rule["action"], rule["onExitCodes"]["values"]) == ("FailJob", [2, 3])


def test_a_run_that_goes_on_has_one_pod_that_gets_its_time_to_stop(deploy: Deploy) -> None:
    spec = _of_kind(manifests(deploy(f"{_CONTINUOUS}stop_timeout: 2 minutes\n"), "orders:1"), "Deployment")["spec"]
    assert (spec["replicas"], spec["strategy"]["type"]) == (1, "Recreate")
    pod = spec["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] == 150
    [driver] = pod["containers"]
    assert driver["args"] == ["run", "/pipeline", "--metrics-port", "9464"]
    assert "127.0.0.1:9464/livez" in driver["livenessProbe"]["exec"]["command"][-1]
    assert "127.0.0.1:9464/readyz" in driver["readinessProbe"]["exec"]["command"][-1]


def test_metrics_with_a_certificate_are_asked_from_outside(deploy: Deploy) -> None:
    metrics = "metrics: {port: 9000, address: 0.0.0.0, certificate: tls.pem, token: '${env:TOKEN}'}\n"
    pod = _of_kind(manifests(deploy(_CONTINUOUS + metrics), "orders:1"), "Deployment")["spec"]["template"]["spec"]
    [driver] = pod["containers"]
    assert driver["args"] == ["run", "/pipeline"]
    assert driver["livenessProbe"]["httpGet"] == {"path": "/livez", "port": 9000, "scheme": "HTTPS"}
    assert [each["name"] for each in driver["env"]] == ["HOME", "TOKEN"]


def test_options_typed_are_those_of_the_run(deploy: Deploy) -> None:
    typed = deploy(options=("--env", "prod", "--storage", "s3a://x/y"), run_options=("--continuous",))
    pod = _of_kind(manifests(typed, "orders:1"), "CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["args"] == [
        "run",
        "/pipeline",
        "--env",
        "prod",
        "--storage",
        "s3a://x/y",
        "--continuous",
    ]


def test_secrets_are_references_to_one_secret(deploy: Deploy) -> None:
    pod = _of_kind(manifests(deploy(_CONTINUOUS + _SECRETS), "orders:1"), "Deployment")["spec"]["template"]["spec"]
    [driver] = pod["containers"]
    [variable] = [each for each in driver["env"] if "valueFrom" in each]
    assert variable == {
        "name": "KAFKA_PASSWORD",
        "valueFrom": {"secretKeyRef": {"name": "orders", "key": "KAFKA_PASSWORD"}},
    }
    mounts = {
        each["mountPath"]: each["subPath"] for each in driver["volumeMounts"] if each["name"].startswith("secret")
    }
    assert mounts == dict(_FILES.values())


def test_the_secret_is_made_of_the_files_that_a_run_here_reads(
    deploy: Deploy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert shlex.split(secret_command(deploy(_SECRETS)) or "")[5:] == [
        "--from-literal=KAFKA_PASSWORD=$KAFKA_PASSWORD",
        f"--from-file=keys-ca.pem={tmp_path}/../keys/ca.pem",
        "--from-file=run-secrets-ca.pem=/run/secrets/ca.pem",
        f"--from-file=own-key.pem={tmp_path}/own key.pem",
        "--from-file=kafka-key.pem=/home/me/.kafka/key.pem",
    ]
    assert secret_command(deploy()) is None


def test_no_pod_has_more_rights_than_it_needs(deploy: Deploy) -> None:
    files = manifests(deploy(ON_CLUSTER + _CONTINUOUS), "orders:1")
    executor = yaml.safe_load(_of_kind(files, "ConfigMap")["data"]["executor.yaml"])
    for pod in (_of_kind(files, "Deployment")["spec"]["template"]["spec"], executor["spec"]):
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in pod["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert executor["spec"]["automountServiceAccountToken"] is False
    assert all(rule["apiGroups"] == [""] and "*" not in rule["verbs"] for rule in _of_kind(files, "Role")["rules"])
    alone = manifests(deploy(_CONTINUOUS), "orders:1")
    assert _of_kind(alone, "Deployment")["spec"]["template"]["spec"]["automountServiceAccountToken"] is False


def test_what_the_pipeline_file_sets_is_not_set_again(deploy: Deploy) -> None:
    settings = f"{ON_CLUSTER}spark_conf: {{spark.driver.port: 9999, spark.kubernetes.container.image: own:2}}\n"
    found = _of_kind(manifests(deploy(settings), None), "ConfigMap")["data"]["spark-defaults.conf"]
    assert "spark.driver.port" not in found
    assert "spark.network.crypto.enabled true" in found


@pytest.mark.parametrize(
    ("settings", "image", "condition"),
    [
        ("", None, "DEPLOY_IMAGE_MISSING"),
        ("master: k8s://https://kubernetes.default.svc\n", "orders:1", "DEPLOY_STORAGE_NOT_SHARED"),
    ],
)
def test_what_cannot_run_is_refused(deploy: Deploy, settings: str, image: str | None, condition: str) -> None:
    with pytest.raises(ConfigError) as failure:
        manifests(deploy(settings), image)
    assert failure.value.condition == condition


@pytest.mark.parametrize(
    ("seconds", "cron"),
    [
        (60, "*/1 * * * *"),
        (900, "*/15 * * * *"),
        (3_600, "0 */1 * * *"),
        (21_600, "0 */6 * * *"),
        (86_400, "0 0 * * *"),
    ],
)
def test_an_interval_is_a_cron_expression(deploy: Deploy, seconds: float, cron: str) -> None:
    assert deploy(every=seconds).cron() == cron


@pytest.mark.parametrize("seconds", [0, 30, 90, 7 * 60, 5 * 3_600, 2 * 86_400])
def test_an_interval_that_cron_does_not_have_is_refused(deploy: Deploy, seconds: float) -> None:
    with pytest.raises(ConfigError) as failure:
        deploy(every=seconds).cron()
    assert failure.value.condition == "CONFIG_INVALID_VALUE"


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("orders", "orders"),
        ("Orders & Co.", "orders-co"),
        ("7days", "pipeline-7days"),
        ("日本", "pipeline"),
        ("x" * 99, "x" * 40),
    ],
)
def test_names_are_labels_of_dns(deploy: Deploy, name: str, label: str) -> None:
    assert deploy(name=f"'{name}'").name == label


@pytest.mark.parametrize(
    ("text", "expected"), [("2g", 2048), ("512m", 512), ("1048576k", 1024), ("1 gb", 1024), ("?", 2048)]
)
def test_memory_as_spark_writes_it(text: str, expected: int) -> None:
    assert mebibytes(text) == expected
