"""`dbutils`, `open` and paths of Databricks in pipeline files, without Spark."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from tests.unit.declare.conftest import Load

from penstock.config import load_project
from penstock.declare import PipelineRegistry
from penstock.declare.code.given_names import MappedOpen


def said(registry: PipelineRegistry) -> list[tuple[str, dict[str, str], str]]:
    return [(error.condition, error.facts, str(error.location)) for error in registry.errors]


def shown(load: Load, text: str, **options: Any) -> list[object]:
    """Loads `text` and returns what it passes to `display`."""
    found: list[object] = []
    registry = load(text, display=found.append, **options)
    assert said(registry) == []
    return found


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "in"
    (folder / "deeper").mkdir(parents=True)
    (folder / "a.json").write_text("äöü\n", encoding="utf-8")
    os.utime(folder / "a.json", (1_767_250_800.5, 1_767_250_800.5))
    return tmp_path / "data"


@pytest.mark.parametrize("path", ["/Volumes/main/raw", "dbfs:/Volumes/main/raw/", "/dbfs/Volumes/main/raw", "./data"])
def test_files_are_seen_through_the_mapping(load: Load, data: Path, path: str) -> None:
    text = f"""
        for entry in dbutils.fs.ls({path!r} + "/in"):
            display((entry.path, entry.name, entry.size, entry.isDir(), entry.isFile()))
        display(dbutils.fs.ls({path!r} + "/in")[0].modificationTime)
        display([entry.name for entry in dbutils.fs.ls({path!r} + "/in/a.json")])
        display(dbutils.fs.head({path!r} + "/in/a.json"))
        display(dbutils.fs.head({path!r} + "/in/a.json", 2))
        display([dbutils.fs.exists({path!r} + name) for name in ("/in", "/out")])
        display([dbutils.fs.mkdirs({path!r} + "/out/b") for _ in "12"])
    """
    found = shown(load, text, paths={"/Volumes/main/raw": str(data)})
    base = f"{path}/in"
    assert found == [
        (f"{base}/a.json", "a.json", 7, False, True),
        (f"{base}/deeper/", "deeper/", found[1][2], True, False),  # type: ignore[index] # a folder's size is the disk's
        1_767_250_800_500,
        ["a.json"],
        "äöü\n",
        "ä",
        [True, False],
        [True, True],
    ]
    assert (data / "out" / "b").is_dir()


def test_a_file_that_is_not_there_is_python_s_error(load: Load) -> None:
    text = """
        for path in ("./nowhere", "./nowhere/a.json"):
            try:
                dbutils.fs.ls(path)
            except FileNotFoundError as error:
                display(error.filename)
    """
    assert shown(load, text) == ["./nowhere", "./nowhere/a.json"]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("dbutils.fs.rm('/Volumes/a', True)", "dbutils.fs.rm"),
        ("dbutils.fs.mount('s3a://a', '/mnt/a')", "dbutils.fs.mount"),
        ("dbutils.notebook.run('other', 60)", "dbutils.notebook"),
        ("dbutils.jobs.taskValues.get('a')", "dbutils.jobs"),
        ("dbutils.secrets.list('shop')", "dbutils.secrets.list"),
        ("dbutils.library.installPyPI('x')", "dbutils.library.installPyPI"),
        ("dbutils.widgets.help()", "dbutils.widgets.help"),
    ],
)
def test_everything_else_is_refused_by_name(load: Load, call: str, name: str) -> None:
    ((condition, facts, place),) = said(load(f"x = 1\n{call}\n"))
    assert (condition, facts["name"], place) == ("UNSUPPORTED_DECLARATION", name, "pipeline.py:2")


def test_nothing_has_to_be_restarted(load: Load) -> None:
    assert shown(load, "dbutils.library.restartPython()\ndisplay(repr(dbutils))") == ["dbutils"]


def test_the_module_of_modules_that_have_no_dbutils(load: Load) -> None:
    files = {"helper.py": "from pyspark.dbutils import DBUtils\n\ndef get(spark): return DBUtils(spark)\n"}
    text = "import helper\ndisplay(helper.get(spark) is dbutils)\n"
    assert shown(load, text, **files, libraries=["pipeline.py"]) == [True]


def test_secrets_are_read_where_the_configuration_says(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "penstock.yml").write_text(
        "name: o\nsecrets: {shop/key: '${env:SHOP_KEY}', key: '${env:KEY}', gone: '${env:GONE}'}\n"
    )
    monkeypatch.setenv("SHOP_KEY", "of the shop")
    monkeypatch.setenv("KEY", "of all")
    monkeypatch.delenv("GONE", raising=False)
    secrets = load_project(tmp_path).secrets
    text = "for scope in ('shop', 'other'): display(dbutils.secrets.get(scope, key='key'))\n"
    assert shown(load, text, secrets=secrets) == ["of the shop", "of all"]
    assert shown(load, "display(dbutils.secrets.getBytes(scope='a', key='key'))", secrets=secrets) == [b"of all"]
    ((condition, facts, place),) = said(load("dbutils.secrets.get('shop', 'kye')\n", secrets=secrets))
    assert (condition, facts["secret"], place) == ("SECRET_NOT_DECLARED", "shop/kye", "pipeline.py:1")
    assert "shop/key" in facts["suggestion"]
    (error,) = load("dbutils.secrets.get('shop', 'gone')\n", secrets=secrets).errors
    assert (error.condition, error.facts["secret"]) == ("SECRET_NOT_FOUND", "gone")


def test_widgets_are_the_configuration(load: Load) -> None:
    text = """
        dbutils.widgets.text("source", "./other")
        dbutils.widgets.dropdown("mode", "a", ["a", "b"], "The mode")
        dbutils.widgets.combobox("more", "1", ["1", "2"])
        display([dbutils.widgets.get(name) for name in ("source", "mode", "limit")])
        display(dbutils.widgets.getAll())
        dbutils.widgets.remove("more")
        dbutils.widgets.removeAll()
        display([dbutils.widgets.getArgument("source"), dbutils.widgets.getArgument("mode", "none")])
    """
    found = shown(load, text, configuration={"source": "./data", "limit": "5"})
    everything = {"source": "./data", "mode": "a", "more": "1"}
    assert found == [["./data", "a", "5"], everything, ["./data", "none"]]
    assert said(load("dbutils.widgets.get('source')\n")) == [("SQL_CONF_NOT_FOUND", {"key": "source"}, "pipeline.py:1")]


def test_parameters_of_run_are_widgets(load: Load) -> None:
    files = {"other.py": "# Databricks notebook source\ndbutils.widgets.text('a', '0')\nA = dbutils.widgets.get('a')\n"}
    text = '# Databricks notebook source\n# MAGIC %run ./other $a="1 2" $b=3\n# COMMAND ----------\ndisplay(A)\n'
    assert shown(load, text, configuration={"a": "9"}, **files, libraries=["pipeline.py"]) == ["1 2"]


def test_open_follows_the_mapping(load: Load, data: Path) -> None:
    text = """
        with open("/dbfs/Volumes/main/raw/in/a.json", encoding="utf-8") as file:
            display(file.read())
        with open(__file__) as file:
            display(file.readline().strip())
    """
    assert shown(load, text, paths={"/Volumes/main/raw": str(data)}) == ["äöü\n", ""]


def test_workers_get_python_s_own_open() -> None:
    assert pickle.loads(pickle.dumps(MappedOpen({}))) is open


@pytest.mark.parametrize(
    ("path", "entry"),
    [
        ("/Volumes/main/shop/raw/in/a.json", "/Volumes/main/shop/raw"),
        ("/dbfs/Volumes/main/shop/raw/a.json", "/Volumes/main/shop/raw"),
        ("/Workspace/project/a.json", "/Workspace/project"),
        ("/databricks-datasets/iot/a.json", "/databricks-datasets/iot"),
        ("/FileStore/tables/a.csv", "/FileStore/tables"),
        ("/dbfs/mnt/raw/a.csv", "dbfs:/mnt/raw"),
    ],
)
@pytest.mark.parametrize(
    "code", ["open({0!r})", "import pathlib; pathlib.Path({0!r}).read_text()", "dbutils.fs.ls({0!r})"]
)
def test_a_path_that_nobody_mapped_names_the_entry(load: Load, path: str, entry: str, code: str) -> None:
    registry = load(f"x = 1\n{code.format(path)}\n")
    assert said(registry) == [("PATH_NOT_MAPPED", {"path": path, "entry": entry}, "pipeline.py:2")]


def test_dbfs_uris(load: Load) -> None:
    registry = load("dbutils.fs.ls('dbfs:/mnt/raw/in')\n", paths={"/mnt/other": "x"})
    assert said(registry)[0][1]["entry"] == "dbfs:/mnt/raw"


def test_other_files_that_are_missing_stay_what_they_are(load: Load) -> None:
    assert [error.condition for error in load("open('/nowhere/a.json')\n").errors] == ["PIPELINE_FILE_FAILED"]
