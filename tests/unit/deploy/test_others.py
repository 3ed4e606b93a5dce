"""Files for systemd, GitHub Actions and Docker, judged by what reads them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib import resources
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator
from tests.cli_runner import penstock
from tests.unit.deploy.conftest import Deploy

from penstock.deploy.container import container
from penstock.deploy.github_actions import workflow
from penstock.deploy.systemd import units

_SECRET = "secrets: {kafka: '${env:KAFKA_PASSWORD}'}\n"


@pytest.mark.parametrize("settings", ["continuous: true\n", ""], ids=["service", "timer"])
def test_systemd_accepts_its_units(deploy: Deploy, tmp_path: Path, settings: str) -> None:
    if (verify := shutil.which("systemd-analyze")) is None:
        pytest.skip("systemd is not on this machine")
    files = units(deploy(settings + _SECRET, name='"50 % of $x"', options=("--env", 'a "b" 5 %')))
    for each in files:
        (tmp_path / each.path).write_text(each.text)
    done = subprocess.run(
        [verify, "verify", *(tmp_path / each.path for each in files)], check=False, capture_output=True, text=True
    )
    assert not re.search(r"[Uu]nknown|[Ii]nvalid|[Ff]ailed to parse|ignoring", done.stderr), done.stderr
    assert r'--env "a \"b\" 5 %%"' in files[0].text


def test_a_service_is_not_tried_again_when_its_definition_is_wrong(deploy: Deploy) -> None:
    [service] = units(deploy("continuous: true\nstop_timeout: 1 minute\n" + _SECRET))
    lines = service.text.splitlines()
    for line in ("Restart=on-failure", "RestartPreventExitStatus=2 3", "TimeoutStopSec=90", "KillSignal=SIGTERM"):
        assert line in lines
    assert "EnvironmentFile=/etc/penstock/orders.env" in lines


def test_a_timer_counts_from_the_end_of_the_last_run(deploy: Deploy) -> None:
    service, timer = units(deploy(every=420.0))
    assert "Type=oneshot" in service.text.splitlines()
    assert "OnUnitInactiveSec=420" in timer.text.splitlines()


def test_github_accepts_its_workflow(deploy: Deploy) -> None:
    [file] = workflow(deploy(_SECRET, options=("--env", "dev's")))
    document = yaml.safe_load(file.text)
    document["on"] = document.pop(True)  # YAML 1.1, which PyYAML reads, takes `on` for true; GitHub reads 1.2
    schema = resources.files("check_jsonschema.builtin_schemas") / "vendor" / "github-workflows.json"
    Draft7Validator(json.loads(schema.read_text())).validate(document)
    job = document["jobs"]["check"]
    assert job["env"] == {"KAFKA_PASSWORD": "${{ secrets.KAFKA_PASSWORD }}"}
    assert document["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert "penstock validate --env 'dev'\"'\"'s'" in [step.get("run") for step in job["steps"]]


def test_the_image_runs_without_root_and_has_the_clients_of_its_storage(deploy: Deploy) -> None:
    [dockerfile, ignored] = container(deploy("storage: s3a://lake/orders\n"))
    lines = dockerfile.text.splitlines()
    assert "RUN penstock setup --s3 && chmod -R a+rX /opt/penstock" in lines
    assert lines.index("USER 10001:10001") < lines.index('ENTRYPOINT ["penstock"]')
    assert 'COPY ["penstock.yml", "requirements.tx[t]", "/opt/project/"]' in lines
    assert "RUN mkdir -p /work && chown 10001:10001 /work" in lines
    assert ".penstock" in ignored.text.splitlines()


@pytest.mark.parametrize(
    ("storage", "folder"), [("", "/pipeline/.penstock"), ("storage: '/srv/my lake'\n", "'/srv/my lake'")]
)
def test_a_storage_on_a_disk_is_the_users_in_the_image(deploy: Deploy, storage: str, folder: str) -> None:
    dockerfile = container(deploy(storage))[0]
    assert f"RUN mkdir -p /work {folder} && chown 10001:10001 /work {folder}" in dockerfile.text.splitlines()


@pytest.mark.usefixtures("one_process")
def test_options_that_choose_the_settings_are_those_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: orders\nenvironments: {prod: {trigger: 10 seconds}}\n")
    (tmp_path / "pipeline.py").touch()
    penstock("deploy", "systemd", tmp_path, "--env", "prod", "--storage", "/srv/orders").expect(0)
    [service] = (tmp_path / "deploy/systemd").iterdir()
    [command] = [line for line in service.read_text().splitlines() if line.startswith("ExecStart=")]
    assert command.endswith(f" run {tmp_path} --env prod --storage /srv/orders")


@pytest.mark.usefixtures("one_process")
def test_what_was_changed_by_hand_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: orders\n")
    (tmp_path / "pipeline.py").touch()
    words = ("deploy", "kubernetes", tmp_path, "--image", "orders:1")
    penstock(*words).expect(0)
    penstock(*words).expect(0)
    changed = tmp_path / "deploy/kubernetes/cronjob.yaml"
    changed.write_text("# mine\n")
    refused = penstock(*words, "--every", "15 minutes").expect(2)
    assert "[DEPLOY_FILES_EXIST]" in refused.stderr
    assert changed.read_text() == "# mine\n"
    penstock(*words, "--every", "15 minutes", "--force").expect(0)
    assert "*/15 * * * *" in changed.read_text()
    assert "[CONFIG_INVALID_VALUE]" in penstock(*words, "--every", "7 minutes", "--force").expect(2).stderr
    (tmp_path / "file").touch()
    assert "[DEPLOY_FILES_NOT_WRITABLE]" in penstock(*words, "--output", tmp_path / "file").expect(2).stderr
