"""What the files for Airflow and Dagster do with a run, its exit code and its end. A slow test has both tools run."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.processes import wait_until
from tests.unit.deploy.conftest import Deploy

from penstock.deploy.deployment import DeployFile, Deployment
from penstock.deploy.orchestrators import airflow, dagster

_BOTH = pytest.mark.parametrize("write", [airflow, dagster])
_END = "\nimport sys\nsys.exit(run_pipeline())\n"


def _of_the_run(file: DeployFile, program: Path) -> str:
    """The file's own code that runs the pipeline, with another program than `penstock`."""
    wanted = {"PENSTOCK", "OPTIONS", "RUN", "NO_RETRY", "STOP_SECONDS", "run_pipeline"}
    tree = ast.parse(file.text)
    kept = [each for each in tree.body if _name(each) in wanted]
    assert {_name(each) for each in kept} == wanted
    code = ast.unparse(ast.Module(kept, []))
    return f"import subprocess\n{code}\nRUN[0] = {str(program)!r}\n{_END}"


def _name(node: ast.stmt) -> str:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.FunctionDef(name=name):
            return name
    return ""


def _program(folder: Path, body: str) -> Path:
    program = folder / "penstock"
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return program


@_BOTH
def test_the_exit_code_is_that_of_the_run(
    deploy: Deploy, tmp_path: Path, write: Callable[[Deployment], list[DeployFile]]
) -> None:
    [file] = write(deploy("continuous: true\n", options=("--env", 'it\'s "prod"')))
    program = _program(tmp_path, f'printf "%s\\n" "$@" > {tmp_path}/words; exit 3')
    done = subprocess.run([sys.executable, "-c", _of_the_run(file, program)], check=False)
    assert done.returncode == 3
    words = (tmp_path / "words").read_text().splitlines()
    assert words == ["run", str(tmp_path), "--env", 'it\'s "prod"', "--trigger", "available_now"]


@_BOTH
def test_a_task_that_is_ended_lets_the_run_stop_by_itself(
    deploy: Deploy, tmp_path: Path, write: Callable[[Deployment], list[DeployFile]]
) -> None:
    [file] = write(deploy())
    trap = f"trap 'touch {tmp_path}/stopped; exit 0' TERM; touch {tmp_path}/started; while :; do sleep 0.05; done"
    asked_to_end = "import signal\ndef end(*_): raise SystemExit(9)\nsignal.signal(signal.SIGTERM, end)\n"
    code = asked_to_end + _of_the_run(file, _program(tmp_path, trap))
    with subprocess.Popen([sys.executable, "-c", code]) as task:
        wait_until((tmp_path / "started").exists, timeout=20, what="the run")
        os.kill(task.pid, signal.SIGTERM)
        assert task.wait(20) == 9
    assert (tmp_path / "stopped").exists()


def test_only_a_run_that_can_succeed_is_tried_again(deploy: Deploy) -> None:
    for write in (airflow, dagster):
        [file] = write(deploy(every=900.0))
        assert '\nNO_RETRY = {2: "the definition is wrong", 3: "the state is refused"}' in file.text
    assert "schedule=timedelta(seconds=900)" in airflow(deploy(every=900.0))[0].text
    assert 'cron_schedule="*/15 * * * *"' in dagster(deploy(every=900.0))[0].text
