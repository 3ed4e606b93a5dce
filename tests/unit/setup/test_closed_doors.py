"""What a session refuses before it starts Java: an open driver, Spark Connect, a driver that is elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.config import load_project
from penstock.errors import ConfigError
from penstock.spark.session.cluster.settings import require_authentication, require_own_driver
from penstock.spark.session.launch import SessionConfig, launch

CONNECT = "SPARK_CONNECT_UNSUPPORTED"


@pytest.fixture(autouse=True)
def no_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))


@pytest.mark.parametrize("master", ["spark://spark.test:7077", "spark://127.0.0.1:7077,spark.test:7077"])
def test_an_open_driver_on_a_cluster_of_other_machines_is_refused(master: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        require_authentication(master, {"spark.executor.memory": "1g"})
    assert (refused.value.condition, refused.value.facts["master"]) == ("SPARK_NOT_AUTHENTICATED", master)
    for word in ("security: {cluster: true}", "spark.authenticate: false"):
        assert word in refused.value.fix
    for meant in ("true", "false"):
        require_authentication(master, {"spark.authenticate": meant})
    (tmp_path / "spark-defaults.conf").write_text("spark.authenticate false\n")
    require_authentication(master, {})


@pytest.mark.parametrize(
    "master",
    [
        "local[*]",
        "local-cluster[2,1,1024]",
        "spark://127.0.0.1:7077",
        "spark://localhost:7077,[::1]:7077",
        "yarn",
        "k8s://https://k8s.test",
    ],
)
def test_other_masters_are_not(master: str) -> None:
    require_authentication(master, {})


@pytest.mark.parametrize(
    ("settings", "environ", "named"),
    [
        ({"spark.remote": "sc://head:15002"}, {}, "spark.remote=sc://head:15002"),
        ({"spark.api.mode": "Connect"}, {}, "spark.api.mode=Connect"),
        ({}, {"SPARK_REMOTE": "sc://head"}, "SPARK_REMOTE=sc://head"),
        ({}, {"SPARK_API_MODE": "connect"}, "SPARK_API_MODE=connect"),
        ({}, {"SPARK_CONNECT_MODE": "1"}, "SPARK_CONNECT_MODE=1"),
        ({}, {"SPARK_CONNECT_MODE_ENABLED": "1"}, "SPARK_CONNECT_MODE_ENABLED=1"),
    ],
)
def test_spark_connect_is_refused_wherever_it_is_chosen(
    settings: dict[str, str], environ: dict[str, str], named: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        require_own_driver("local[*]", settings, environ=environ)
    assert (refused.value.condition, refused.value.facts["setting"]) == (CONNECT, named)


def test_what_does_not_choose_spark_connect_is_fine() -> None:
    environ = {"SPARK_REMOTE": "", "SPARK_CONNECT_MODE": "0", "SPARK_API_MODE": "classic"}
    require_own_driver("yarn", {"spark.api.mode": "classic", "spark.submit.deployMode": "client"}, environ=environ)


def test_a_master_of_spark_connect_is_named_where_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: orders\nmaster: sc://head:15002\n")
    with pytest.raises(ConfigError) as refused:
        load_project(tmp_path)
    assert refused.value.condition == CONNECT
    assert str(refused.value.location) == f"{tmp_path}/penstock.yml:2"
    with pytest.raises(ConfigError) as refused:
        require_own_driver("sc://head", {}, environ={})
    assert refused.value.condition == CONNECT, "as settings of Databricks name it"


@pytest.mark.parametrize("mode", ["cluster", "Cluster"])
def test_a_driver_elsewhere_is_refused(mode: str) -> None:
    with pytest.raises(ConfigError) as refused:
        require_own_driver("yarn", {"spark.submit.deployMode": mode}, environ={})
    assert (refused.value.condition, refused.value.facts["mode"]) == ("DEPLOY_MODE_UNSUPPORTED", mode)
    assert "penstock deploy kubernetes" in refused.value.fix


@pytest.mark.parametrize(
    ("config", "condition"),
    [
        (SessionConfig("a", "spark://spark.test:7077"), "SPARK_NOT_AUTHENTICATED"),
        (SessionConfig("a", spark_conf={"spark.remote": "sc://x"}), CONNECT),
        (SessionConfig("a", "yarn", {"spark.submit.deployMode": "cluster"}), "DEPLOY_MODE_UNSUPPORTED"),
    ],
)
def test_java_is_not_started(config: SessionConfig, condition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.spark.session.launch.find_java", lambda: pytest.fail("Java was looked for"))
    with pytest.raises(ConfigError) as refused:
        launch(config, progress=lambda _line: None)
    assert refused.value.condition == condition


@pytest.mark.parametrize("command", ["validate", "run", "plan"])
def test_commands_say_it_with_the_file(command: str, tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: orders\nmaster: spark://spark.test:7077\n")
    (tmp_path / "pipeline.py").write_text("import penstock as ps\n")
    result = CliRunner().invoke(app, [command, str(tmp_path), "--json"])
    assert result.exit_code == 2
    assert "SPARK_NOT_AUTHENTICATED" in result.output
    assert f"{tmp_path}/penstock.yml" in result.output.replace("\n", "")
    doctor = CliRunner().invoke(app, ["doctor", str(tmp_path), "--json"])
    assert "SPARK_NOT_AUTHENTICATED" in {each["condition"] for each in json.loads(doctor.stdout)["findings"]}
