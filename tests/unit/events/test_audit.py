"""The record of user actions: whatever is done to its lines is noticed, and a crash is not taken for that."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.repo.documents import ROOT, blocks
from tests.unit.events.test_log import open_log, say

from penstock.errors import ExternalError
from penstock.events import EventLog, EventType, builders, read_events
from penstock.events.flows.facts import details_of
from penstock.events.log.audit import Actor, RecordedAction, Tampering, recorded_actions

ADA = Actor("ada", "command line", "192.0.2.7")
FIRST, SECOND = "000001-0001.jsonl", "000002-0001.jsonl"


def act(log: EventLog, action: str = "START") -> str:
    """Notes an action and returns its hash."""
    event = log.append(EventType.USER_ACTION, *builders.user_action(action, by=ADA))
    return str(details_of(event)["hash"])


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """Two runs, with three actions between other events."""
    with open_log(tmp_path, "u1") as log:
        act(log)
        say(log)
        act(log, "STOP")
    with open_log(tmp_path, "u2") as log:
        act(log, "DROP")
        say(log)
    return tmp_path


def record(storage: Path) -> list[RecordedAction]:
    return list(recorded_actions(str(storage)))


def tampering(storage: Path) -> list[Tampering | None]:
    return [each.tampering for each in record(storage)]


def edit(storage: Path, segment: str, change: Callable[[list[str]], list[str]]) -> None:
    file = storage / "events" / segment
    file.write_text("".join(change(file.read_text().splitlines(keepends=True))))


def test_each_action_follows_the_one_before_also_over_runs(three: Path) -> None:
    assert tampering(three) == [None, None, None]
    actions = [details_of(event) for event in read_events(str(three), types=[EventType.USER_ACTION])]
    assert [each["previous"] for each in actions] == [None, *(each["hash"] for each in actions[:-1])]
    assert {(each["user_name"], each["through"], each["from"]) for each in actions} == {
        ("ada", "command line", "192.0.2.7")
    }


def test_the_hash_is_computed_without_penstock_as_the_page_says(three: Path) -> None:
    (code,) = [block.text for block in blocks(ROOT / "docs/how-to/audit.md") if block.kind == "python"]
    page: dict[str, Any] = {}
    exec(code, page)
    line = (three / "events" / SECOND).read_text().splitlines()[0]
    assert page["own_hash"](line) == json.loads(json.loads(line)["details"])["user_action"]["hash"]


@pytest.mark.parametrize("field", ["ada", "START", "192.0.2.7", "2026-11-20T09", '\\"previous\\":null', '"host":"h"'])
def test_a_changed_action_is_noticed(three: Path, field: str) -> None:
    edit(three, FIRST, lambda lines: [lines[0].replace(field, field[:-2] + "x" + field[-1], 1), *lines[1:]])
    assert tampering(three)[0] is Tampering.CHANGED


def test_an_action_that_was_signed_anew_does_not_fit_the_next(three: Path) -> None:
    with open_log(three / "forged") as log:
        act(log, "VACUUM")
    forged = (three / "forged" / "events" / FIRST).read_text()
    edit(three, FIRST, lambda lines: [forged, *lines[1:]])
    assert tampering(three) == [None, Tampering.BEFORE_IS_MISSING, None]


@pytest.mark.parametrize(
    ("segment", "change", "found"),
    [
        (FIRST, lambda lines: lines[:2], [None, Tampering.BEFORE_IS_MISSING]),
        (FIRST, lambda lines: lines[1:], [Tampering.BEGINNING_IS_MISSING, None]),
        (FIRST, lambda lines: lines[::-1],
         [Tampering.BEGINNING_IS_MISSING, Tampering.BEFORE_IS_MISSING, Tampering.BEFORE_IS_MISSING]),
        (SECOND, lambda lines: [lines[0], *lines], [None, None, None, Tampering.BEFORE_IS_MISSING]),
        (SECOND, lambda lines: [re.sub(r',\\"hash\\":\\"\w+\\"', "", lines[0])], [None, None, Tampering.NOT_CHAINED]),
    ],
    ids=["taken out", "beginning taken out", "swapped", "repeated", "not signed"],
)  # fmt: skip
def test_what_is_taken_out_or_put_in_is_noticed(
    three: Path, segment: str, change: Callable[[list[str]], list[str]], found: list[Tampering | None]
) -> None:
    edit(three, segment, change)
    assert tampering(three) == found


def test_other_events_may_go(three: Path) -> None:
    """Retention drops what nobody asks for any more; the record stays whole."""
    edit(three, FIRST, lambda lines: [lines[0], lines[2]])
    assert tampering(three) == [None, None, None]


def test_actions_of_older_versions_come_before_the_chain(tmp_path: Path) -> None:
    with open_log(tmp_path) as log:
        act(log)
    edit(tmp_path, FIRST, lambda lines: [re.sub(r',\\"(previous|hash)\\":(null|\\"\w+\\")', "", lines[0])])
    with open_log(tmp_path, "u2") as log:
        act(log)
    assert tampering(tmp_path) == [None, None]


def test_a_line_torn_by_a_crash_is_no_tampering(three: Path) -> None:
    with (three / "events" / SECOND).open("a") as file:
        file.write((three / "events" / SECOND).read_text().splitlines()[0][:-9])
    with open_log(three, "u3") as log:
        act(log)
    assert tampering(three) == [None] * 4


def test_after_a_failed_write_the_chain_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_log(tmp_path) as log:
        act(log)
        monkeypatch.setattr(log._segment, "write", lambda line: 0, raising=False)
        with pytest.raises(ExternalError):
            act(log)
        act(log)
    assert tampering(tmp_path) == [None, None]


@given(st.lists(st.sampled_from(["act", "say", "new"]), max_size=12), st.text(max_size=20))
def test_any_history_is_whole(tmp_path_factory: pytest.TempPathFactory, steps: list[str], words: str) -> None:
    storage = tmp_path_factory.mktemp("log")
    log, acted = open_log(storage), 0
    for step in steps:
        match step:
            case "act":
                log.append(EventType.USER_ACTION, words, {"user_action": {"hash": words, words: words}})
                acted += 1
            case "say":
                say(log, words)
            case _:
                log.close()
                log = open_log(storage, f"u{acted}")
    log.close()
    assert tampering(storage) == [None] * acted


def test_who_it_is_comes_from_the_system_and_not_from_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USER", "mallory")
    monkeypatch.setenv("LOGNAME", "mallory")
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.7 50000 192.0.2.1 22")
    monkeypatch.delenv("SUDO_USER", raising=False)
    actor = Actor.of_process()
    assert actor.user not in {None, "mallory"}
    assert (actor.through, actor.address) == ("command line", "192.0.2.7")
    monkeypatch.setenv("SUDO_USER", "ada")
    monkeypatch.delenv("SSH_CONNECTION")
    assert Actor.of_process() == Actor(f"{actor.user} (sudo by ada)", "command line", None)
