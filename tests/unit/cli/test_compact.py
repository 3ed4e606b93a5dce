"""`penstock compact`, and what `penstock run` does of it by itself."""

from __future__ import annotations

import json
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.recorded.years import BEGINNING, Recorder
from tests.repo.documents import ROOT, blocks
from typer.testing import CliRunner

from penstock.cli.commands.tables.compact import compact_when_due
from penstock.cli.main import app
from penstock.config import load_project
from penstock.errors import ConfigError
from penstock.events import EventType, read_events
from penstock.observe.current import read_status
from penstock.observe.log import retention
from penstock.storage import StorageLock

PAGE = blocks(ROOT / "docs/how-to/event-log-retention.md")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text("name: shop\nschema: s\nevent_log: {retention: 1 day}\n")
    recorder = Recorder(str(tmp_path / ".penstock"), 7, batches=5)
    recorder.record(5)
    recorder.define()
    return tmp_path


def call(project: Path, *arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["compact", str(project), *arguments])
    assert result.exit_code == code, result.output
    return result.output


def types(project: Path) -> list[EventType]:
    return [event.event_type for event in read_events(str(project / ".penstock"))]


def test_it_says_what_became_of_the_log_and_is_on_the_record(project: Path) -> None:
    before = read_status(str(project / ".penstock"))
    said = call(project)
    assert "events dropped" in said
    assert "MiB became" in said
    assert types(project).count(EventType.COMPACTION) == 1
    assert read_status(str(project / ".penstock")) == before
    *_, newest = read_events(str(project / ".penstock"), types=[EventType.USER_ACTION])
    assert newest.details["user_action"]["action"] == "COMPACT_EVENT_LOG"
    assert CliRunner().invoke(app, ["audit", str(project)]).exit_code == 0
    assert call(project) == "No event to drop.\n"


def test_as_json(project: Path) -> None:
    done: dict[str, Any] = json.loads(call(project, "--json"))
    assert done["dropped"] > 0
    assert done["bytes_after"] < done["bytes_before"]


def test_another_age(project: Path) -> None:
    days = (datetime.now(UTC) - BEGINNING).days
    assert call(project, "--older-than", f"{days + 5} days") == "No event to drop.\n"
    assert "INVALID_INTERVAL" in call(project, "--older-than", "some time", code=2)
    (project / "penstock.yml").write_text("name: shop\nevent_log: {retention: keep}\n")
    assert "is 'keep'" in call(project)
    assert EventType.COMPACTION not in types(project)
    assert "events dropped" in call(project, "--older-than", "1 hour")


def test_refused_while_a_run_works(project: Path) -> None:
    with StorageLock(str(project / ".penstock")):
        assert "STORAGE_LOCKED" in call(project, code=3)
    assert EventType.COMPACTION not in types(project)


def test_a_run_does_it_when_it_is_worth_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = load_project(project)
    compact_when_due(config)
    assert EventType.COMPACTION not in types(project), "so little is not worth it"
    monkeypatch.setattr(retention, "_WORTH_IT", 1000)
    (project / "penstock.yml").write_text("name: shop\nevent_log: {retention: keep}\n")
    compact_when_due(load_project(project))
    assert EventType.COMPACTION not in types(project)
    with StorageLock(config.storage):
        compact_when_due(config)
    assert "The event log was not compacted: [STORAGE_LOCKED]" in capsys.readouterr().err
    compact_when_due(config)
    assert EventType.COMPACTION in types(project)


@pytest.mark.parametrize(
    ("text", "seconds", "table"),
    [
        ("{retention: 90 days}", 90 * 86_400, None),
        ("{retention: keep}", None, None),
        ("{name: events}", 30 * 86_400, "s.events"),
        ("{name: events, retention: 2 hours}", 7200, "s.events"),
    ],
)
def test_the_pipeline_file_says_how_long(tmp_path: Path, text: str, seconds: float | None, table: str | None) -> None:
    (tmp_path / "penstock.yml").write_text(f"name: orders\nschema: s\nevent_log: {text}\n")
    config = load_project(tmp_path)
    assert config.event_log_retention == seconds
    assert (None if config.event_log is None else str(config.event_log)) == table


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("{retention: 90 dais}", "INVALID_INTERVAL"),
        ("{retention: 3}", "CONFIG_WRONG_TYPE"),
        ("{schema: monitoring, retention: keep}", "CONFIG_MISSING_KEY"),
        ("{}", "CONFIG_MISSING_KEY"),
    ],
)
def test_what_is_wrong_with_it_is_said(tmp_path: Path, text: str, condition: str) -> None:
    (tmp_path / "penstock.yml").write_text(f"name: orders\nevent_log: {text}\n")
    with pytest.raises(ConfigError) as raised:
        load_project(tmp_path)
    assert raised.value.condition == condition
    assert raised.value.location is not None
    assert raised.value.location.line == 2


def test_the_page_shows_what_works(project: Path) -> None:
    (text,) = [block.text for block in PAGE if block.kind == "yaml"]
    (project / "penstock.yml").write_text(text)
    assert load_project(project).event_log_retention == 90 * 86_400
    (commands,) = [block.text for block in PAGE if block.kind == "sh"]
    for line in commands.splitlines():
        call(project, *shlex.split(line)[2:])
    assert EventType.COMPACTION in types(project)
