"""The settings of a Databricks pipeline: what is used, ignored and refused, and where its files are found."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.unit.config.conftest import Project, errors_of

from penstock.config import LibraryKind, PipelineConfig, Trigger, TriggerKind, load_project
from penstock.config.databricks.keys import DATABRICKS, LIBRARY
from penstock.errors import PenstockError

PAGE = (Path(__file__).parents[3] / "docs/how-to/coming-from-databricks.md").read_text(encoding="utf-8")

SETTINGS = """\
{
\t"id": "0c51b7d0",
\t"name": "orders",
\t"catalog": "main",
\t"target": "shop",
\t"storage": "dbfs:/pipelines/orders",
\t"continuous": true,
\t"development": true,
\t"photon": false,
\t"clusters": [{"label": "default", "autoscale": {"min_workers": 1, "max_workers": 5}}],
\t"configuration": {
\t\t"source": "/Volumes/main/raw",
\t\t"limit": 5,
\t\t"spark.sql.shuffle.partitions": "8",
\t\t"spark.hadoop.password": "{{secrets/shop/password}}",
\t\t"pipelines.trigger.interval": "10 seconds"
\t},
\t"libraries": [
\t\t{"notebook": {"path": "/Users/a@b.com/orders/notebooks/orders"}},
\t\t{"file": {"path": "extra.py"}},
\t\t{"glob": {"include": "/Workspace/orders/transformations/**"}}
\t],
\t"notifications": [{"email_recipients": ["a@b.com"], "alerts": ["on-update-failure"]}],
\t"new_key": 1,
\t"event_log": {"catalog": "main", "schema": "monitoring", "name": "orders_events"}
}
"""


def load_error(folder: Path, **options: str) -> list[tuple[str, str]]:
    with pytest.raises(PenstockError) as raised:
        load_project(folder, **options)  # type: ignore[arg-type] # only texts are given here
    assert raised.value.exit_code == 2
    return [(error.condition, str(error.location)) for error in errors_of(raised.value)]


def test_settings_are_read_and_the_rest_is_noticed(project: Project) -> None:
    project("extends: pipeline.json\nsecrets: {shop/password: '${env:PASSWORD}'}\n")
    folder = project(SETTINGS, "pipeline.json")
    config = load_project(folder, environ={"PASSWORD": "secret"})
    assert (config.name, config.catalog, config.schema) == ("orders", "main", "shop")
    assert config.storage == str(folder.resolve() / ".penstock")
    assert str(config.event_log) == "monitoring.orders_events"
    assert config.trigger == Trigger(TriggerKind.PROCESSING_TIME, "10 seconds")
    assert config.configuration == {
        "source": "/Volumes/main/raw",
        "limit": "5",
        "spark.sql.shuffle.partitions": "8",
        "pipelines.trigger.interval": "10 seconds",
    }
    assert config.spark_conf["spark.sql.shuffle.partitions"] == "8"
    assert config.resolve_spark_conf()["spark.hadoop.password"] == "secret"
    assert [library.kind for library in config.libraries] == [LibraryKind.NOTEBOOK, LibraryKind.FILE, LibraryKind.GLOB]
    assert [(notice.facts["key"], str(notice.location)) for notice in config.notices] == [
        ("storage", "orders/pipeline.json:6"),
        ("clusters", "orders/pipeline.json:10"),
        ("notifications", "orders/pipeline.json:23"),
        ("new_key", "orders/pipeline.json:24"),
    ]


def test_a_secret_that_no_file_names(project: Project) -> None:
    assert load_error(project(SETTINGS, "pipeline.json")) == [("CONFIG_UNKNOWN_SECRET", "orders/pipeline.json:15")]


def _files(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")


def _found(config: PipelineConfig) -> list[str]:
    return [path.relative_to(config.directory).as_posix() for path in config.source_files()]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import dlt\n", True),
        ("x = 1\n  from dlt import *\n", True),
        ('{"cells": [{"source": ["import dlt\\n"]}]}', True),
        ("import dltHub\nfrom pyspark import pipelines as dlt\n", False),
        ("", False),
    ],
)
def test_pipelines_that_may_expect_null_of_casts(project: Project, code: str, *, expected: bool) -> None:
    folder = project("name: orders\nlibraries: [{file: {path: a.py}}]\n")
    config = load_project(folder)
    assert not config.expects_null(), "whoever needs the file says that it is missing"
    (folder / "a.py").write_text(code, encoding="utf-8")
    assert config.expects_null() is expected
    project("extends: pipeline.json\n")
    project('{"name": "orders", "libraries": [{"file": {"path": "a.py"}}]}', "pipeline.json")
    assert load_project(folder).expects_null()


def test_files_of_a_workspace_are_found_in_the_folder(project: Project) -> None:
    project("extends: pipeline.json\nsecrets: {shop/password: '${env:PASSWORD}'}\n")
    folder = project(SETTINGS, "pipeline.json")
    _files(folder, "notebooks/orders.py", "notebooks/other.py", "extra.py", "transformations/a/b.py", "orders.py")
    assert _found(load_project(folder)) == ["extra.py", "notebooks/orders.py", "transformations/a/b.py"]


def test_paths_say_where_files_of_a_workspace_are(project: Project) -> None:
    settings = {"name": "orders", "libraries": [{"notebook": {"path": "/Repos/me/shop/orders"}}]}
    project(json.dumps(settings), "pipeline.json")
    folder = project("extends: pipeline.json\npaths: {/Repos/me: ./mine}\n")
    _files(folder, "orders.py", "mine/shop/orders.ipynb")
    assert _found(load_project(folder)) == ["mine/shop/orders.ipynb"]


def test_a_notebook_that_is_nowhere(project: Project) -> None:
    folder = project("name: orders\nlibraries:\n  - notebook: {path: /Repos/me/orders}\n", "pipeline.yml")
    _files(folder, "other.py")
    with pytest.raises(PenstockError) as raised:
        load_project(folder).source_files()
    assert (raised.value.condition, str(raised.value.location)) == ("CONFIG_NO_SOURCE_FILES", "orders/pipeline.yml:3")


def test_what_the_command_line_tool_prints(project: Project) -> None:
    text = '{"pipeline_id": "1", "state": "IDLE", "spec": {"name": "orders", "schema": "shop"}}'
    config = load_project(project(text, "exported.json") / "exported.json")
    assert (config.name, config.schema, config.notices) == ("orders", "shop", ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("target: shop\n", [("CONFIG_MISSING_KEY", "1")]),
        ("name: orders\ntarget: a\nschema: b\n", [("CONFIG_CONFLICTING_KEYS", "3")]),
        ("name: orders\ningestion_definition: {}\n", [("CONFIG_KEY_NOT_SUPPORTED", "2")]),
        ("name: orders\nlibraries: [{jar: x.jar}]\n", [("CONFIG_KEY_NOT_SUPPORTED", "2")]),
        ("name: orders\nlibraries: [{notebook: {}}]\n", [("CONFIG_MISSING_KEY", "2")]),
        ("name: orders\nlibraries: [{note: {}}]\n", [("CONFIG_UNKNOWN_KEY", "2")]),
        ("name: orders\ncontinuous: sometimes\n", [("CONFIG_WRONG_TYPE", "2")]),
        (
            "name: orders\ncontinuous: true\nconfiguration:\n  pipelines.trigger.interval: soon\n",
            [("CONFIG_INVALID_TRIGGER", "4")],
        ),
    ],
)
def test_mistakes(project: Project, text: str, expected: list[tuple[str, str]]) -> None:
    found = load_error(project(text, "pipeline.yml"))
    assert [(condition, place.rpartition(":")[2]) for condition, place in found] == expected


def test_options_of_bundles_are_refused(project: Project) -> None:
    folder = project("name: orders\n", "pipeline.yml")
    assert load_error(folder, pipeline="orders") == [("CONFIG_UNKNOWN_PIPELINE", "orders/pipeline.yml")]
    assert load_error(folder, environment="dev") == [("CONFIG_UNKNOWN_ENVIRONMENT", "orders/pipeline.yml")]


def test_extends(project: Project) -> None:
    project("name: spark\nstorage: here\nlibraries: [{glob: {include: src/**}}]\nconfiguration: {a: 1}\n", "x.yml")
    (project("", "empty.yml") / "sub").mkdir()
    (Path("orders") / "x.yml").rename("orders/sub/spark-pipeline.yml")
    folder = project("extends: sub\nconfiguration: {b: 2}\nenvironments: {prod: {schema: live}}\n")
    config = load_project(folder, environment="prod")
    assert (config.name, config.schema, config.directory) == ("spark", "live", folder.resolve())
    assert config.configuration == {"a": "1", "b": "2"}
    assert config.storage == str(folder.resolve() / "sub" / "here")
    assert config.libraries[0].pattern == str(folder.resolve() / "sub" / "src" / "**")


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("extends: penstock.yml\n", "CONFIG_EXTENDS_ITSELF"),
        ("extends: nowhere\n", "PIPELINE_NOT_FOUND"),
        ("pipeline: orders\nname: o\n", "CONFIG_MISSING_KEY"),
    ],
)
def test_extends_what_cannot_be(project: Project, text: str, condition: str) -> None:
    assert [found for found, _ in load_error(project(text))] == [condition]


def test_the_page_lists_every_key() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("|")]
    listed = {name for row in rows for name in re.findall(r"`([\w.]+)`", row.split("|")[1])}
    names = {name for key in DATABRICKS.keys for name in (key.name, *key.aliases)} - {"libraries"}
    names |= {f"libraries.{key.name}" for key in LIBRARY.keys}
    assert sorted(names - listed) == []
