from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import pytest
from tests.unit.config.conftest import Project

from penstock.config import PipelineConfig, load_project
from penstock.errors import ConfigError, SourceLocation

TEXT = """\
name: orders
secrets:
  password: ${env:PASSWORD}
  token: ${file:token.txt}
spark_conf:
  plain: ${spark.master}
  jaas: user=me password=${secret:password} token="${secret:token}" extra=${env:EXTRA}
"""


@pytest.fixture
def config(project: Project) -> PipelineConfig:
    folder = project(TEXT)
    (folder / "token.txt").write_text("t0ken\n", encoding="utf-8")
    return load_project(folder, environ={"PASSWORD": "hunter2", "EXTRA": "more"})


def test_values_are_read_when_they_are_asked_for(config: PipelineConfig) -> None:
    assert config.secrets["password"].resolve() == "hunter2"
    assert config.secrets["token"].resolve() == "t0ken"
    (config.directory / "token.txt").write_text("new", encoding="utf-8")
    assert config.secrets["token"].resolve() == "new"


def test_spark_conf_is_resolved_only_on_demand(config: PipelineConfig) -> None:
    assert "hunter2" not in repr(config)
    assert config.resolve_spark_conf() == {
        "plain": "${spark.master}",
        "jaas": 'user=me password=hunter2 token="t0ken" extra=more',
    }


def test_no_view_of_the_settings_shows_a_value(config: PipelineConfig) -> None:
    shown = [repr(config), str(config), repr(config.secrets), repr(dataclasses.asdict(config))]
    shown += [f"{reference!s} {reference!r}" for reference in config.secrets.values()]
    for text in shown:
        assert "hunter2" not in text
        assert "t0ken" not in text
    assert repr(config.secrets["password"]) == "SecretReference('password', ${env:PASSWORD})"
    with pytest.raises(TypeError):
        pickle.dumps(config.secrets["password"])


def test_redact(config: PipelineConfig) -> None:
    assert config.redact("login hunter2 with t0ken and more failed") == "login *** with *** and *** failed"


def test_redact_leaves_the_secrets_of_other_pipelines(config: PipelineConfig, project: Project) -> None:
    other = load_project(project("name: o\nsecrets: {p: '${env:OTHER}'}\n"), environ={"OTHER": "canary"})
    assert config.redact("hunter2 and canary") == "*** and canary"
    assert other.redact("hunter2 and canary") == "hunter2 and ***"


@pytest.mark.parametrize(("size", "reason"), [(1_000_000, None), (1_000_001, "it is larger than 1 MB")])
def test_file_of_a_secret_has_at_most_a_megabyte(config: PipelineConfig, size: int, reason: str | None) -> None:
    (config.directory / "token.txt").write_text("x" * size, encoding="utf-8")
    if reason is None:
        assert len(config.secrets["token"].resolve()) == size
        return
    with pytest.raises(ConfigError) as raised:
        config.secrets["token"].resolve()
    assert reason in raised.value.facts["reason"]


def test_redact_passes_over_missing_secrets(project: Project) -> None:
    assert load_project(project(TEXT), environ={"PASSWORD": "hunter2"}).redact("hunter2 t0ken") == "*** t0ken"


@pytest.mark.parametrize("environ", [{}, {"PASSWORD": ""}])
def test_missing_or_empty_variable(project: Project, environ: dict[str, str]) -> None:
    config = load_project(project(TEXT), environ=environ)
    with pytest.raises(ConfigError) as raised:
        config.secrets["password"].resolve()
    assert raised.value.condition == "SECRET_NOT_FOUND"
    assert raised.value.location == SourceLocation("orders/penstock.yml", 3)
    assert raised.value.facts["secret"] == "password"
    assert "PASSWORD" in raised.value.facts["reason"]
    with pytest.raises(ConfigError):
        config.resolve_spark_conf()


@pytest.mark.parametrize("content", [None, b"", b"\xff"])
def test_missing_empty_or_unreadable_file(project: Project, content: bytes | None) -> None:
    folder = project(TEXT)
    if content is not None:
        (folder / "token.txt").write_bytes(content)
    with pytest.raises(ConfigError) as raised:
        load_project(folder, environ={}).secrets["token"].resolve()
    assert raised.value.condition == "SECRET_NOT_FOUND"
    assert raised.value.facts["secret"] == "token"


def test_an_unset_variable_in_spark_conf_names_the_setting(project: Project) -> None:
    config = load_project(project("name: o\nspark_conf:\n  a.b: ${env:NOPE}\n"), environ={})
    with pytest.raises(ConfigError) as raised:
        config.resolve_spark_conf()
    assert raised.value.condition == "SECRET_NOT_FOUND"
    assert raised.value.facts["secret"] == "a.b"
    assert raised.value.location == SourceLocation("orders/penstock.yml", 3)


def test_files_are_relative_to_the_pipeline(project: Project, tmp_path: Path) -> None:
    (tmp_path / "absolute").write_text("one", encoding="utf-8")
    folder = project(f"name: o\nsecrets:\n  a: ${{file:{tmp_path}/absolute}}\n  b: ${{file:../absolute}}\n")
    config = load_project(folder)
    assert [reference.resolve() for reference in config.secrets.values()] == ["one", "one"]
