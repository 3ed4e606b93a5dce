"""`penstock tune`, on event logs written without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.recorded.days import DaysRecorder
from typer.testing import CliRunner

from penstock.cli.main import app

runner = CliRunner()
SETTINGS = 'name: shop\nmaster: local[4]\nspark_conf:\n  spark.sql.shuffle.partitions: "200"\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text(SETTINGS)
    return tmp_path


@pytest.fixture
def recorded(project: Path) -> Path:
    DaysRecorder(str(project / ".penstock")).always_on(16 * 3600, trigger=120)
    return project


def _tune(*words: str) -> Any:
    result = runner.invoke(app, ["tune", *words], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result


def test_each_setting_is_printed_with_what_it_was_computed_from(recorded: Path) -> None:
    result = _tune(str(recorded))
    lines = result.stdout.splitlines()
    at = lines.index("  change               maxOffsetsPerTrigger  of shop.bronze_orders: not set -> 76000")
    assert "for each million rows (479 batches in 15.9 hours), so 459k rows fit into 10 s." in lines[at + 1]
    assert lines[at + 3] == "      Set: an option of the read"
    assert "  change               spark.sql.shuffle.partitions: 200 -> 4" in lines
    assert "  not applicable       spark.executor.memory: There are no executors (master local[4])." in lines
    assert "  too little evidence  spark.driver.memory: 2g" in lines
    assert "Advice: 2 changes" in result.stderr


def test_lines_to_paste_are_only_settings_of_the_session(recorded: Path) -> None:
    stderr = _tune(str(recorded)).stderr
    assert stderr.endswith('spark_conf:\n  spark.sql.shuffle.partitions: "4"\n')


def test_nothing_is_changed(recorded: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in recorded.rglob("*") if file.is_file()}
    _tune(str(recorded))
    assert {file: file.stat().st_mtime_ns for file in recorded.rglob("*") if file.is_file()} == before


def test_a_pipeline_that_never_ran_says_so(project: Path) -> None:
    result = _tune(str(project))
    assert "No update has run yet." in result.stdout
    assert "Advice: 0 changes, 13 too little evidence." in result.stderr


def test_json_has_the_numbers(recorded: Path) -> None:
    document = json.loads(_tune(str(recorded), "--json").stdout)
    [found] = [each for each in document["settings"] if each["setting"] == "maxOffsetsPerTrigger"]
    assert (found["flow"], found["verdict"], found["advised"]) == ("shop.bronze_orders", "change", "76000")
    assert found["measured"]["fixed_seconds"] == pytest.approx(0.8, abs=0.01)
    assert found["measured"]["seconds_per_million_rows"] == pytest.approx(20, rel=0.02)
