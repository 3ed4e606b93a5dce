"""What must start fast starts without Spark: asserted by what was imported, which no slow machine can change."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SPARK = {"pyspark", "delta", "py4j"}
HEAVY = SPARK | {"pandas", "numpy", "pyarrow", "deltalake", "uvicorn", "starlette", "fsspec", "asyncio"}
NOT_FOR_TEXT = {"pydantic", "rich.markdown"}
"""Typer's: for values that are not text, and for help."""

OF_A_PIPELINE = {"penstock.events", "penstock.storage", "penstock.config", "ruamel.yaml"}
PROGRAM = """
import json, sys
from penstock.cli.main import app
codes = []
for words in json.loads(sys.argv[1]):
    try:
        app(words, prog_name="penstock")
    except SystemExit as ended:
        codes.append(ended.code or 0)
print(json.dumps({"codes": codes, "loaded": sorted(sys.modules)}), file=sys.stderr)
"""


def run(*commands: str, cwd: Path) -> tuple[list[int], set[str]]:
    """Runs commands one after the other in one process; returns their exit codes and all that was imported."""
    words = json.dumps([command.split() for command in commands])
    done = subprocess.run([sys.executable, "-c", PROGRAM, words], cwd=cwd, capture_output=True, text=True, check=True)
    told = json.loads(done.stderr.splitlines()[-1])
    return told["codes"], set(told["loaded"])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    run("init orders", cwd=folder)
    return folder / "orders"


def test_these_commands_import_nothing_heavy(project: Path) -> None:
    commands = ("--help", "--version", "run --help", "explain", "status", "status --json", "events --json")
    codes, loaded = run(*commands, cwd=project)
    assert codes == [0] * len(commands)
    assert loaded & HEAVY == set()


def test_help_loads_nothing_that_a_pipeline_needs(tmp_path: Path) -> None:
    """Nor does it read the pipeline file."""
    (tmp_path / "penstock.yml").write_text("{{{ no yaml")
    codes, loaded = run("run --help", "status --help", cwd=tmp_path)
    assert codes == [0, 0]
    assert loaded & OF_A_PIPELINE == set()


def test_status_loads_no_other_command(project: Path) -> None:
    codes, loaded = run("status", "status --json", cwd=project)
    assert codes == [0, 0]
    assert loaded & (HEAVY | NOT_FOR_TEXT) == set()
    assert _command_modules(loaded) == {"penstock.cli.commands.watching.status"}


def test_help_loads_no_command(tmp_path: Path) -> None:
    codes, loaded = run("--help", "--version", "checkpoint --help", cwd=tmp_path)
    assert codes == [0, 0, 0]
    assert _command_modules(loaded) == set()
    assert "pydantic" not in loaded
    assert not [name for name in loaded if name.startswith(("penstock.config", "penstock.errors", "penstock.observe"))]


def _command_modules(loaded: set[str]) -> set[str]:
    return {name for name in loaded if name.startswith("penstock.cli.commands.") and name.count(".") == 4}


def test_these_commands_start_no_spark(project: Path) -> None:
    looks = ("checkpoint ls", "checkpoint verify", "checkpoint show silver_orders", "show silver_orders", "doctor")
    codes, loaded = run(*looks, cwd=project)
    assert set(codes) <= {0, 2}, "2: there is no table yet"
    assert len(codes) == len(looks)
    assert loaded & SPARK == set()


def test_lint_starts_no_spark(tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("CREATE OR REFRESH STREAMING TABLE a AS SELECT * FROM STREAM(b);\n")
    (tmp_path / "b.py").write_text("spark.sql('SELECT 1')\n")
    codes, loaded = run("lint", cwd=tmp_path)
    assert codes == [0]
    assert loaded & SPARK == set()
