"""The page Security: its pipeline passes the checks that it names, and its commands do what it says."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.repo.documents import ROOT, blocks
from typer.testing import CliRunner, Result

from penstock.cli.main import app

PAGE = ROOT / "docs/how-to/security.md"
CELLS = [
    [cell.strip() for cell in line.strip().strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ")
]
VERIFIED_BY = [row[-1] for row in CELLS if len(row) == 3 and row[-1] not in {"verify", "Azure"}]
NAMED = re.findall(r"`penstock doctor` \((`[a-z-]+`)\)", PAGE.read_text(encoding="utf-8"))
EXECUTED = {
    "penstock doctor": 0,
    "penstock audit --only actions": 0,
    "penstock audit --only reads": 0,
    "penstock audit --only grants": 0,
    "penstock sql 'SHOW GRANTS'": 0,
    "penstock sql 'SHOW GRANTS ON TABLE event_log'": 0,
    "penstock audit --expect HASH": 3,
    "penstock ui --host 0.0.0.0": 2,
    "penstock lint": 0,
}
"""With the exit code on a pipeline in which nothing is wrong, and nobody has done anything."""

ELSEWHERE = {
    "penstock validate": "starts Spark: tests/unit/setup/test_closed_doors.py",
    "penstock run": "starts Spark",
    "penstock show": "needs a table: tests/unit/cli/test_recorded_reads.py",
    "penstock show TABLE": "needs a table with a filter: tests/spark/runtime/test_row_filters.py",
    "penstock alerts test": "needs a destination: tests/unit/alerts",
    "penstock setup": "needs the network: tests/unit/setup",
}


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    (settings,) = [block.text for block in blocks(PAGE) if block.kind == "yaml"]
    (tmp_path / "penstock.yml").write_text(settings)
    (tmp_path / "pipeline.py").write_text("import penstock as ps\n")
    return tmp_path


def ask(words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    monkeypatch.chdir(folder)
    monkeypatch.delenv("PENSTOCK_UI_TOKEN", raising=False)
    more = [] if words[0] == "lint" else ["--storage", str(folder / "storage")]
    return CliRunner().invoke(app, [*words, *more])


def _commands() -> Iterator[str]:
    for cell in VERIFIED_BY:
        yield from (code for code in re.findall(r"`([^`]+)`", cell) if code.startswith("penstock "))


def test_each_line_says_how_it_is_verified() -> None:
    assert len(VERIFIED_BY) > 30
    assert [cell for cell in VERIFIED_BY if not cell] == []
    assert set(_commands()) <= EXECUTED.keys() | ELSEWHERE.keys()


def test_its_pipeline_passes_the_checks_that_it_names(closed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = json.loads(ask(["doctor", "--json"], closed, monkeypatch).stdout)
    checks = {each["rule"]: each["status"] for each in document["checks"]}
    named = {name.strip("`") for name in NAMED}
    assert len(named) >= 7
    assert named <= checks.keys()
    assert {name: checks[name] for name in named if checks[name] == "fail"} == {}
    for name in ("cluster-authentication", "cluster-encryption", "secrets-referenced", "ports-closed"):
        assert checks[name] == "pass"


def test_the_checks_that_it_names_fail_on_an_open_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "penstock.yml").write_text(
        "name: orders\nmaster: spark://head:7077\n"
        "spark_conf: {spark.ui.enabled: true, spark.hadoop.fs.s3a.secret.key: AKIA0000hunter2}\n"
    )
    document = json.loads(ask(["doctor", "--json"], tmp_path, monkeypatch).stdout)
    failed = {each["rule"] for each in document["checks"] if each["status"] == "fail"}
    assert {"cluster-authentication", "cluster-encryption", "secrets-referenced", "ports-closed"} <= failed


@pytest.mark.parametrize(("command", "code"), EXECUTED.items())
def test_its_commands_do_what_it_says(command: str, code: int, closed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command in _commands()
    result = ask(shlex.split(command)[1:], closed, monkeypatch)
    assert result.exit_code == code, result.output
    if "0.0.0.0" in command:
        assert "DASHBOARD_NOT_LOOPBACK" in result.output
