"""`penstock alerts check` and `test`, on an event log written without Spark."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.recorded.build import recorded_orders
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.events import EventType, read_events
from penstock.observe.status.pipeline_status import project_status
from penstock.storage import LockOwner, StorageLock

runner = CliRunner()
NOTIFY = "pager: {command: {run: [sh, -c, 'cat >> told']}}"


def write(folder: Path, tables: str = '{"*": {freshness: 1 hour}}', destinations: str = NOTIFY) -> Path:
    (folder / "penstock.yml").write_text(
        f"name: orders\nschema: shop\nalerts:\n  tables: {tables}\n  destinations:\n    {destinations}\n"
    )
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    recorded_orders(str(tmp_path / ".penstock"))
    return write(tmp_path)


def alerts(*words: object, code: int) -> Any:
    result = runner.invoke(app, ["alerts", *map(str, words)])
    assert result.exit_code == code, result.output
    return result


def test_what_is_wrong_is_told_and_is_the_exit_code(project: Path) -> None:
    found = json.loads(alerts("check", project, "--json", code=1).stdout)
    assert {each["condition"] for each in found["wrong"]} == {"TABLE_STALE"}
    assert found["run_is_alive"] is False
    write(project, '{"*": {freshness: 5000 weeks}}')
    assert alerts("check", project, code=0).stdout.startswith("Nothing is wrong: ")
    assert not (project / "told").exists(), "only with --send"


def test_a_run_whose_process_is_gone_is_wrong(tmp_path: Path) -> None:
    recorded_orders(str(tmp_path / ".penstock"), finished=False)
    write(tmp_path, '{"*": {freshness: 5000 weeks}}')
    found = json.loads(alerts("check", tmp_path, "--json", "--send", code=1).stdout)
    assert [each["condition"] for each in found["wrong"]] == ["UPDATE_INTERRUPTED"]
    assert json.loads((tmp_path / "told").read_text())["alerts"][0]["dataset"] is None


def test_while_a_run_is_alive_it_tells_by_itself(project: Path) -> None:
    owner = LockOwner.current("penstock run")
    with StorageLock(str(project / ".penstock"), owner):
        result = alerts("check", project, "--send", code=1)
    assert "A run is alive" in result.stderr
    assert not (project / "told").exists()


def test_what_was_told_is_not_told_again_and_belongs_to_no_update(project: Path) -> None:
    storage = str(project / ".penstock")
    before = project_status(read_events(storage))
    for _ in range(2):
        alerts("check", project, "--send", code=1)
    assert len((project / "told").read_text().split("}{")) == 1
    after = project_status(read_events(storage))
    assert after.update == before.update
    assert len(after.alerts) == 4
    sequences = [event.sequence for event in read_events(storage)]
    assert sequences == list(range(len(sequences)))
    write(project, '{"*": {freshness: 5000 weeks}}')
    (project / "penstock.yml").write_text(
        (project / "penstock.yml").read_text().replace("alerts:", "alerts:\n  keep_firing_for: 0 seconds")
    )
    alerts("check", project, "--send", code=0)
    assert project_status(read_events(storage)).alerts == ()
    assert '"resolved"' in (project / "told").read_text()


def test_a_destination_that_is_away_is_in_the_log(project: Path) -> None:
    write(project, destinations="pager: {command: {run: [no-such-program]}}")
    alerts("check", project, "--send", code=1)
    events = [e for e in read_events(str(project / ".penstock")) if e.event_type is EventType.ALERT_DELIVERY]
    assert [(event.error or {})["condition"] for event in events] == ["ALERT_NOT_DELIVERED"]


def test_a_pipeline_that_never_ran_has_nothing_wrong(tmp_path: Path) -> None:
    write(tmp_path)
    assert alerts("check", tmp_path, code=0).stdout == "Nothing is wrong: 0 checks.\n"
    assert os.listdir(tmp_path) == ["penstock.yml"]


def test_unknown_names_and_no_alerts_are_errors(project: Path) -> None:
    write(project, "{order: {freshness: 1 hour}, x: {freshness: 1 hour}}")
    errors = json.loads(alerts("check", project, "--json", code=2).stdout)["errors"]
    assert [(error["condition"], error["file"]) for error in errors] == [
        ("ALERT_TABLE_UNKNOWN", str(project / "penstock.yml"))
    ] * 2
    write(project)
    result = alerts("test", "pagr", "--directory", project, "--json", code=2)
    assert json.loads(result.stdout)["errors"][0]["condition"] == "ALERT_DESTINATION_UNKNOWN"
    (project / "penstock.yml").write_text("name: orders\n")
    for words in (("check", project), ("test", "--directory", project)):
        errors = json.loads(alerts(*words, "--json", code=2).stdout)["errors"]
        assert errors[0]["condition"] == "ALERTS_NOT_DECLARED"
