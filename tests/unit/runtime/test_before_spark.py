"""What is wrong with a pipeline's files is said before anyone waits for Spark."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.config import PipelineConfig, load_project
from penstock.errors import ConfigError, PipelineInvalid
from penstock.events import Event
from penstock.plan.selection import RefreshSelection
from penstock.runtime.project import workspace
from penstock.runtime.project.validation import plan_update, validate
from penstock.runtime.project.workspace import load_files
from penstock.runtime.update import run_update


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(workspace, "start_session", start)


def _pipeline(folder: Path, **files: str) -> PipelineConfig:
    (folder / "penstock.yml").write_text("name: orders\n", encoding="utf-8")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return load_project(folder)


def test_syntax_errors_of_all_files(tmp_path: Path) -> None:
    config = _pipeline(
        tmp_path,
        bronze="import dlt\n\n@dlt.table\ndef orders()\n    return spark.table('x')\n",
        silver="return 1\n",
        notebook="# Databricks notebook source\n%pip install x\n",
        escaped=r"pattern = '\d'",
    )
    found = [(error.condition, str(error.location)) for error in validate(config).errors]
    assert found == [
        ("SYNTAX_ERROR_IN_PIPELINE_FILE", "bronze.py:4"),
        ("SYNTAX_ERROR_IN_PIPELINE_FILE", "silver.py:1"),
    ]


def test_each_command_says_that_there_are_no_files(tmp_path: Path) -> None:
    config = _pipeline(tmp_path)
    for command in (validate, lambda it: plan_update(it, RefreshSelection())):
        with pytest.raises(ConfigError) as raised:
            command(config)
        assert raised.value.condition == "CONFIG_NO_SOURCE_FILES"


def test_a_run_ends_with_the_syntax_error_in_its_events(tmp_path: Path) -> None:
    config, seen = _pipeline(tmp_path, orders="def orders(\n"), list[Event]()
    with pytest.raises(PipelineInvalid):
        run_update(config, RefreshSelection(), on_event=seen.append)
    (failed,) = [event.error for event in seen if event.error]
    assert failed["message"] == (
        "The pipeline is invalid: [SYNTAX_ERROR_IN_PIPELINE_FILE] Python cannot read this file: "
        "'(' was never closed (orders.py:1)."
    )


def test_files_ask_for_their_pipeline_as_on_databricks(tmp_path: Path) -> None:
    names = "[f'{key}={spark.conf.get(key, None)}' for key in KEYS]"
    code = f"""
        import dlt

        KEYS = ['pipelines.id', 'pipelines.catalog', 'pipelines.schema', 'pipelines.target', 'pipelines.dbrVersion']

        @dlt.table(comment=', '.join({names}))
        def orders():
            return spark.range(1)
    """
    config = replace(_pipeline(tmp_path, orders=textwrap.dedent(code)), catalog="main", schema="shop")
    [table] = load_files(config, config.source_files(), configuration={"pipelines.target": "other"}).graph().tables
    assert table.comment == (
        "pipelines.id=orders, pipelines.catalog=main, pipelines.schema=shop, pipelines.target=other, "
        "pipelines.dbrVersion=None"
    )
