"""What must start fast starts without Spark: asserted by what was imported, which no slow machine can change."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SPARK = {"pyspark", "delta", "py4j"}
HEAVY = SPARK | {"pandas", "numpy", "pyarrow", "deltalake", "uvicorn", "starlette", "fsspec", "asyncio"}
OF_A_PIPELINE = {"penstock.events", "penstock.storage", "penstock.config", "ruamel.yaml"}
PROGRAM = """
import json, sys
from penstock.cli.main import app
try:
    app(prog_name="penstock")
except SystemExit as ended:
    code = ended.code
print(json.dumps({"code": code, "loaded": sorted(sys.modules)}), file=sys.stderr)
"""


def run(*words: str, cwd: Path) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], cwd=cwd, capture_output=True, text=True, check=True)
    told: dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
    return told


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project") / "orders"
    run("init", str(folder), cwd=folder.parent)
    return folder


@pytest.mark.parametrize(
    "words",
    [["--help"], ["--version"], ["run", "--help"], ["explain"], ["status"], ["status", "--json"], ["events", "--json"]],
    ids=" ".join,
)
def test_imports_nothing_heavy(words: list[str], project: Path) -> None:
    told = run(*words, cwd=project)
    assert told["code"] in (0, None)
    assert HEAVY.isdisjoint(told["loaded"])


def test_help_loads_nothing_that_a_pipeline_needs(tmp_path: Path) -> None:
    told = run("status", "--help", cwd=tmp_path)
    assert OF_A_PIPELINE.isdisjoint(told["loaded"])


def test_lint_starts_no_spark(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("CREATE OR REFRESH STREAMING TABLE a AS SELECT * FROM STREAM(b);\n")
    (tmp_path / "b.py").write_text("spark.sql('SELECT 1')\n")
    told = run("lint", cwd=tmp_path)
    assert told["code"] == 0
    assert SPARK.isdisjoint(told["loaded"])


def test_show_starts_no_spark(project: Path) -> None:
    told = run("show", "silver_orders", cwd=project)
    assert told["code"] == 2  # there is no table yet
    assert SPARK.isdisjoint(told["loaded"])


@pytest.mark.parametrize(
    "words",
    [["checkpoint", "ls"], ["checkpoint", "verify"], ["checkpoint", "show", "silver_orders"], ["doctor"]],
    ids=" ".join,
)
def test_checkpoints_are_looked_at_without_spark(words: list[str], project: Path) -> None:
    told = run(*words, cwd=project)
    assert told["code"] in (0, 2, None)
    assert SPARK.isdisjoint(told["loaded"])


def test_help_does_not_read_the_pipeline_file(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("{{{ no yaml")
    assert run("run", "--help", cwd=tmp_path)["code"] in (0, None)
