"""`validate`, `plan` and `sql` beside `penstock dev`: the same answers as without it, and sooner."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cli_runner import Outcome, Running, own_process, running
from tests.processes import wait_until

PIPELINE = """\
import time
from pathlib import Path

import penstock as ps
from pyspark.sql import functions as F

if Path("hold").exists():
    Path("held").touch()
    while Path("hold").exists():
        time.sleep(0.05)

@ps.table
@ps.expect_or_drop("positive", "amount > 0")
def bronze():
    return spark.readStream.format("json").schema("id INT, amount DOUBLE").load("./in")

@ps.materialized_view
def total():
    return ps.read("bronze").groupBy().agg(F.sum("amount").alias("total"))
"""
SETTINGS = """\
name: shop
schema: shop
spark_conf:
  spark.driver.memory: 1g
environments:
  same: {configuration: {source: here}}
  other: {spark_conf: {spark.sql.shuffle.partitions: 3}}
"""
STARTING = "Starting Spark on local[*]\n"
VARIABLES = {"PYTEST_CURRENT_TEST": ""}
"""Of which every command has the same value."""

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "in").mkdir()
    (folder / "in" / "one.json").write_text('{"id": 1, "amount": 5.0}\n{"id": 2, "amount": -1.0}\n')
    (folder / "pipeline.py").write_text(PIPELINE)
    (folder / "penstock.yml").write_text(SETTINGS)
    return folder


@pytest.fixture(scope="module")
def session(project: Path) -> Iterator[Running]:
    with running("dev", cwd=project, environ=VARIABLES) as dev:
        dev.wait_for((project / ".penstock/dev/socket").exists, what="the session")
        yield dev


def asked(project: Path, *words: str, **environ: str) -> Outcome:
    return own_process(*words, cwd=project, environ=VARIABLES | environ)


def both(project: Path, *words: str) -> Outcome:
    """Returns the answer of the session, when it is the same as without it."""
    answer, alone = asked(project, *words), asked(project, *words, "--no-session")
    assert STARTING not in answer.stderr, "the session has answered"
    same = (alone.exit_code, alone.stdout, alone.stderr.replace(STARTING, ""))
    assert (answer.exit_code, answer.stdout, answer.stderr) == same
    return answer


@pytest.mark.usefixtures("session")
def test_answers_are_the_same(project: Path) -> None:
    assert [each["name"] for each in both(project, "validate", "--json").expect(0).document["datasets"]] == [
        "shop.bronze",
        "shop.total",
    ]
    assert "shop.bronze" in both(project, "plan", ".", "--full-refresh", "bronze", "--env", "same").expect(0).stdout
    query = "SELECT current_schema() AS s, count(*) AS n FROM range(9)"
    assert both(project, "sql", query, "--json").expect(0).document == [{"s": "default", "n": 9}]


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("columns", [40, 120])
def test_a_terminal_shows_the_same(project: Path, columns: int) -> None:
    answer, alone = (on_a_terminal(project, columns, "validate", *option) for option in ((), ("--no-session",)))
    starting = STARTING.replace("\n", "\r\n")
    assert starting not in answer
    assert answer == alone.replace(starting, "")


@pytest.mark.usefixtures("session")
def test_an_edit_is_seen_at_once_and_its_error_is_the_same(project: Path) -> None:
    (project / "pipeline.py").write_text(PIPELINE.replace('F.sum("amount")', 'F.sum("amonut")'))
    try:
        answer = both(project, "validate").expect(2)
    finally:
        (project / "pipeline.py").write_text(PIPELINE)
    assert "pipeline.py:19" in answer.stderr
    asked(project, "validate").expect(0)


@pytest.mark.usefixtures("session")
def test_tables_that_are_written_meanwhile_are_read_as_they_are(project: Path) -> None:
    count = ("sql", "SELECT count(*) AS n FROM bronze", "--json")
    asked(project, "run").expect(0)
    assert asked(project, *count).expect(0).document == [{"n": 1}]
    (project / "in" / "two.json").write_text('{"id": 3, "amount": 7.0}\n')
    asked(project, "run", "--full-refresh-all").expect(0)
    answer = asked(project, *count).expect(0)
    assert answer.document == [{"n": 2}]
    assert STARTING not in answer.stderr


@pytest.mark.usefixtures("session")
def test_a_command_with_other_settings_or_its_own_will_starts_spark(project: Path) -> None:
    for words, environ in (
        (("--env", "other"), {}),
        ((), {"PENSTOCK_NO_SESSION": "1"}),
        ((), {"AWS_PROFILE": "another"}),
    ):
        assert STARTING in asked(project, "validate", *words, **environ).expect(0).stderr


def test_ctrl_c_ends_the_command_and_not_the_session(session: Running, project: Path) -> None:
    hold(project)
    with running("validate", cwd=project, environ=VARIABLES) as command:
        wait_until((project / "held").exists, timeout=60, what="the command in the session")
        command.signal(signal.SIGINT)
        assert command.process.wait(10) != 0
        let_go(project)
    answer = asked(project, "validate").expect(0)
    assert STARTING not in answer.stderr
    assert session.process.poll() is None


def test_a_command_whose_session_is_killed_runs_on_its_own(session: Running, project: Path) -> None:
    hold(project)
    with running("validate", cwd=project, environ=VARIABLES) as command:
        wait_until((project / "held").exists, timeout=60, what="the command in the session")
        session.signal(signal.SIGKILL)
        session.process.wait()
        let_go(project)
        ended = command.wait().expect(0)
    assert STARTING in ended.stderr
    assert (project / ".penstock/dev/socket").exists()
    assert STARTING in asked(project, "validate").expect(0).stderr


def on_a_terminal(project: Path, columns: int, *words: str) -> str:
    """Returns what a command writes to a terminal of this width."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    command = [sys.executable, "-m", "penstock.cli", *words]
    environ = {**os.environ, **VARIABLES, "TERM": "xterm-256color"}
    process = subprocess.Popen(command, cwd=project, env=environ, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    written = b""
    with suppress(OSError):  # the end of a terminal is an error
        while part := os.read(ours, 4096):
            written += part
    os.close(ours)
    assert process.wait() == 0
    return written.decode()


def hold(project: Path) -> None:
    """Has the pipeline's code wait while it is loaded, and say so with the file `held`."""
    (project / "held").unlink(missing_ok=True)
    (project / "hold").touch()


def let_go(project: Path) -> None:
    """Ends that."""
    (project / "hold").unlink()
