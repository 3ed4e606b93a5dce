"""YARN without a resource manager's address is refused before a JVM starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import ConfigError
from penstock.spark.session.cluster.settings import require_resource_manager
from penstock.spark.session.launch import SessionConfig, launch

_SITE = (
    "<configuration><property><name>yarn.resourcemanager.hostname</name><value>rm</value></property></configuration>"
)


def test_a_start_without_any_configuration_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.setenv("YARN_CONF_DIR", "")
    with pytest.raises(ConfigError, match="neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set") as refused:
        launch(SessionConfig("x", "yarn"), progress=lambda _line: None)
    assert refused.value.condition == "YARN_NOT_CONFIGURED"


@pytest.mark.parametrize("content", [None, "<configuration/>"])
def test_a_folder_that_says_nothing_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "yarn-site.xml").write_text(content)
    with pytest.raises(ConfigError, match=r"YARN_CONF_DIR \(.*\) has no yarn-site.xml"):
        require_resource_manager({}, {"YARN_CONF_DIR": str(tmp_path)})
    require_resource_manager({"spark.hadoop.yarn.resourcemanager.address": "rm:8032"}, {"YARN_CONF_DIR": str(tmp_path)})


def test_one_folder_with_properties_is_enough(tmp_path: Path) -> None:
    (tmp_path / "yarn-site.xml").write_text(_SITE)
    require_resource_manager({}, {"HADOOP_CONF_DIR": "/nowhere", "YARN_CONF_DIR": str(tmp_path)})
