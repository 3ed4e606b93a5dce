"""`penstock audit`: who did what, and whether that record is whole."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.events import EventLog, EventType, builders
from penstock.events.log.audit import Actor


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text("name: orders\nschema: shop\n")
    with EventLog.open(str(tmp_path / ".penstock"), pipeline_name="orders", update_id="u", host="laptop") as log:
        for action, user in (("START", "ada"), ("DROP", "\x1b[2Jgrace")):
            by = Actor(user, "command line", "192.0.2.7")
            log.append(EventType.USER_ACTION, *builders.user_action(action, by=by), dataset="shop.orders")
    return tmp_path


def ask(project: Path, *more: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["audit", str(project), *more])
    assert result.exit_code == code, result.output
    return result


def answer(project: Path, *more: str, code: int = 0) -> Any:
    return json.loads(ask(project, *more, "--json", code=code).stdout)


def test_who_did_what_and_from_where(project: Path) -> None:
    text = ask(project).stdout
    for words in ("ada", "laptop, command line 192.0.2.7", "drop", "shop.orders", "2 actions, none changed"):
        assert words in text
    assert "\x1b" not in text
    document = answer(project)
    assert [(each["user_name"], each["action"], each["wrong"]) for each in document["actions"]] == [
        ("ada", "START", None),
        ("\x1b[2Jgrace", "DROP", None),
    ]
    assert document["hash"] == document["actions"][1]["hash"]
    assert document["hash"] in text


def test_a_hash_that_was_kept_finds_what_was_cut_off(project: Path) -> None:
    kept = answer(project)["hash"]
    assert answer(project, "--expect", kept)["errors"] == []
    segment = next((project / ".penstock" / "events").iterdir())
    segment.write_text(segment.read_text().splitlines(keepends=True)[0])
    assert answer(project)["errors"] == []
    (error,) = answer(project, "--expect", kept, code=3)["errors"]
    assert error["condition"] == "AUDIT_CHAIN_BROKEN"
    assert kept in error["facts"]["wrong"] if "facts" in error else kept in error["message"]


def test_a_changed_action_is_told(project: Path) -> None:
    segment = next((project / ".penstock" / "events").iterdir())
    segment.write_text(re.sub(r"\bada\b", "eve", segment.read_text()))  # not in a hash, which may have it too
    result = ask(project, code=3)
    assert "was changed after it was written" in result.stdout
    assert "AUDIT_CHAIN_BROKEN" in result.stderr
    assert "sequence 0" in " ".join(result.stderr.split()), "wherever the line is wrapped"


def test_nothing_was_done_yet(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: orders\n")
    assert ask(tmp_path).stdout == "No action yet.\n"
    assert not (tmp_path / ".penstock").exists()
