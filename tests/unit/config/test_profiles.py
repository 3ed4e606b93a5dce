"""Profiles: settings of Spark that one key chooses, for a cluster only, below those of the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.config import PipelineConfig, load_project
from penstock.config.profiles import ELASTIC, SECURED
from penstock.errors import ConfigError

_IDLE = "spark.dynamicAllocation.executorIdleTimeout"


def _load(folder: Path, settings: str, environment: str | None = None) -> PipelineConfig:
    (folder / "penstock.yml").write_text(f"name: orders\n{settings}\n")
    return load_project(folder, environment=environment)


def test_an_elastic_cluster_has_its_settings_and_a_local_master_none(tmp_path: Path) -> None:
    settings = "cluster: {elastic: true}\nenvironments: {prod: {master: yarn}}"
    assert _load(tmp_path, settings).spark_conf == {}
    found = _load(tmp_path, settings, "prod").spark_conf
    assert found.keys() == {each.key for each in ELASTIC}
    assert found[_IDLE] == "60s"


@pytest.mark.parametrize(("trigger", "idle"), [("10 seconds", "60s"), ("5 minutes", "600s"), ("available_now", "60s")])
def test_executors_stay_between_two_batches(tmp_path: Path, trigger: str, idle: str) -> None:
    config = _load(tmp_path, f"master: yarn\ncluster: {{elastic: true}}\ntrigger: {trigger}")
    assert config.spark_conf[_IDLE] == idle


def test_the_users_settings_win(tmp_path: Path) -> None:
    own = "spark_conf: {spark.dynamicAllocation.minExecutors: 2, spark.io.encryption.enabled: false}"
    found = _load(tmp_path, f"master: yarn\ncluster: {{elastic: true}}\nsecurity: {{cluster: true}}\n{own}").spark_conf
    assert found["spark.dynamicAllocation.minExecutors"] == "2"
    assert found["spark.io.encryption.enabled"] == "false"
    assert found["spark.network.crypto.enabled"] == "true"


def test_a_standalone_cluster_needs_its_secret(tmp_path: Path) -> None:
    settings = "master: spark://host:7077\nsecurity: {cluster: true}"
    with pytest.raises(ConfigError) as refused:
        _load(tmp_path, settings)
    assert refused.value.condition == "CLUSTER_SECRET_MISSING"
    assert str(refused.value.location) == f"{tmp_path}/penstock.yml:3"
    secret = "spark_conf: {spark.authenticate.secret: '${env:CLUSTER}'}"
    assert {each.key for each in SECURED} <= _load(tmp_path, f"{settings}\n{secret}").spark_conf.keys()


def test_each_setting_stands_once_and_has_a_reason() -> None:
    keys = [each.key for each in (*ELASTIC, *SECURED)]
    assert len(keys) == len(set(keys))
    assert all(len(each.reason) > 10 for each in (*ELASTIC, *SECURED))
