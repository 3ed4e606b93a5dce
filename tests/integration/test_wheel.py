"""The wheel that is published, in an environment of its own: everything that a user's first commands need is in it."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest
import typer
from tests.processes import Server, free_ports
from tests.repo.documents import ROOT


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the sdist of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return folder


@pytest.fixture(scope="module")
def programs(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel; what the wheel depends on is that of the tests' environment."""
    place = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(place)
    python = place / "bin/python"
    [wheel] = built.glob("*.whl")
    install = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "install",
        "--offline",
        "--no-deps",
        "--python",
        str(python),
        str(wheel),
    ]
    subprocess.run(install, check=True, capture_output=True, timeout=120)
    [packages] = place.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(str(Path(typer.__file__).parents[1]))
    return python.parent


def test_the_wheel_says_what_it_is_and_needs(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        [metadata] = [name for name in files.namelist() if name.endswith(".dist-info/METADATA")]
        lines = files.read(metadata).decode().splitlines()
        names = set(files.namelist())
    assert {"Name: penstock", "Requires-Python: >=3.11", "License-Expression: Apache-2.0"} <= set(lines)
    extras = {line.partition(": ")[2] for line in lines if line.startswith("Provides-Extra: ")}
    assert extras == {
        "all",
        "avro",
        "azure",
        "azure-identity",
        "duckdb",
        "gcs",
        "hdfs",
        "kinesis",
        "openlineage",
        "opentelemetry",
        "s3",
        "test",
    }
    assert {
        "penstock/py.typed",
        "penstock/errors/conditions.json",
        "penstock/spark/accelerators/own-classes.jar",
        "penstock/spark/session/setup/jars.lock.json",
        "penstock/cli/templates/orders/penstock.yml",
    } <= names
    assert not [name for name in names if not name.startswith(("penstock/", "penstock-"))]


def test_the_sdist_has_what_builds_and_tests_it(built: Path) -> None:
    [sdist] = built.glob("*.tar.gz")
    with tarfile.open(sdist) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "java/penstock/plans/PlanJson.java", "tests/conftest.py"} <= names


@pytest.mark.timeout(600)
def test_the_first_commands_work_from_the_wheel(programs: Path, tmp_path: Path) -> None:
    def penstock(*words: str) -> str:
        done = subprocess.run(
            [programs / "penstock", *words], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = "import penstock; print(penstock.__file__)"
    found = subprocess.run([programs / "python", "-c", where], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert found.stdout.startswith(str(programs.parent)), "the wheel's, not this checkout's"
    penstock("init", "shop")
    assert json.loads(penstock("run", "shop", "--json"))["update"]["state"] == "COMPLETED"
    rows = json.loads(penstock("show", "bronze_orders", "shop", "--json"))
    assert rows
    [port] = free_ports(1)
    command = [str(programs / "penstock"), "ui", str(tmp_path / "shop"), "--port", str(port)]
    page = f"http://127.0.0.1:{port}/"

    def answers() -> bool:
        try:
            with urllib.request.urlopen(page, timeout=5) as answer:
                return b"bronze_orders" in answer.read()
        except OSError:
            return False

    server = Server("ui", command, tmp_path / "ui.log")
    server.start(answers, timeout=60)
    server.stop()
