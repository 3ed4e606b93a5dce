"""Airflow and Dagster, each in an environment of its own, run the quickstart with the file that is written for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli_runner import penstock
from tests.projects import orders_project

pytestmark = [
    pytest.mark.slow,  # over a hundred packages each; what the files do with a run: unit/deploy/test_orchestrators.py
    pytest.mark.timeout(1500),
]


def _environment(folder: Path, package: str) -> Path:
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin/pip", "install", "--quiet", package], check=True)
    return folder / "bin"


def _run(*command: str | Path, **environ: str | Path) -> str:
    given = {**os.environ, **{name: str(value) for name, value in environ.items()}}
    done = subprocess.run(command, env=given, check=False, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    return done.stdout + done.stderr


def test_airflow_runs_its_dag(tmp_path: Path) -> None:
    programs = _environment(tmp_path / "airflow", "apache-airflow")
    project = orders_project(tmp_path / "orders", files=4)
    penstock("deploy", "airflow", project.directory, "--output", tmp_path / "dags").expect(0)
    home: dict[str, str | Path] = {
        "AIRFLOW_HOME": tmp_path / "home",
        "AIRFLOW__CORE__DAGS_FOLDER": tmp_path / "dags",
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }
    _run(programs / "airflow", "db", "migrate", **home)
    _run(programs / "airflow", "dags", "test", "orders", **home)
    project.assert_tables()


def test_dagster_materializes_each_table(tmp_path: Path) -> None:
    programs = _environment(tmp_path / "dagster", "dagster")
    project = orders_project(tmp_path / "orders", files=4)
    penstock("deploy", "dagster", project.directory, "--output", tmp_path / "assets").expect(0)
    (tmp_path / "home").mkdir()
    file = tmp_path / "assets/orders_assets.py"
    materialize = (programs / "dagster", "asset", "materialize", "--select", "*", "-f", file)
    said = _run(*materialize, DAGSTER_HOME=tmp_path / "home")
    project.assert_tables()
    datasets = json.loads(penstock("status", project.directory, "--json").expect(0).stdout)["datasets"]
    for each in datasets:
        assert each["name"].replace(".", " ") in said.replace("/", " ").replace("__", " ")
