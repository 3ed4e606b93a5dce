"""Views that follow a log: `status --watch` and `top`."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.recorded.build import RECORDED, recorded_orders
from tests.unit.observe.story import Story
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.errors import DataError
from penstock.events import EventLog, EventType, FlowStatus, Level, builders, encode
from penstock.observe.log.followed_log import FollowedLog
from penstock.observe.status.pipeline_status import StatusProjection

COMMAND = [sys.executable, "-m", "penstock.cli"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text("name: orders\nschema: shop\n")
    return tmp_path


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text(f"name: orders\nschema: shop\nstorage: {RECORDED}\n")
    return tmp_path


def ask(*words: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, list(words))
    assert result.exit_code == code, result.output
    return result.stdout


def write(project: Path, story: Story, name: str = "000001") -> None:
    events = project / ".penstock/events"
    events.mkdir(parents=True, exist_ok=True)
    (events / f"{name}-0001.jsonl").write_text("".join(map(encode, story.events)))


def busy_story() -> Story:
    story = Story()
    story.update("u1")
    for name, duration, backlog in (("s.slow", 900, 100), ("s.quick", 50, 0)):
        story.status(name, FlowStatus.RUNNING)
        for batch in range(3):
            story.batch(name, batch, 100, batch_duration_ms=duration, backlog_records=backlog * (batch + 1))
    return story


def large_story() -> Story:
    """Sixty datasets, of which one has failed."""
    story = Story()
    story.update("u1")
    for number in range(60):
        name = f"shop.dataset_{number:02}"
        story.dataset(name, expectations=[("positive amount", "amount > 0", "fail")])
        story.status(name, FlowStatus.RUNNING)
        story.batch(name, 1, 100, input_rows_per_second=number, processed_rows_per_second=number)
    failed = DataError(
        "EXPECTATION_FAILED", name="shop.dataset_47", expectations="positive amount", row="{}", origin=""
    )
    story.status("shop.dataset_47", FlowStatus.FAILED, error=failed, level=Level.ERROR)
    return story


# --- top ----------------------------------------------------------------------


def test_top_of_a_run_that_has_ended(recorded: Path) -> None:
    shown = ask("top", str(recorded))
    assert "4 flows, 0 at work, 0 falling behind" in shown
    assert re.search(r"hourly_revenue +completed +\S +\S +\S +1.6 s +\S +33\b", shown)


def test_top_fits_in_eighty_columns(recorded: Path) -> None:
    screen, _ = screens([*COMMAND, "top", str(recorded), "--once"], columns=80, first="flows")
    assert max(len(line) for line in re.sub(r"\x1b\[[0-9;]*m", "", screen).splitlines()) <= 80
    assert "silver_orders" in screen


@pytest.mark.parametrize("words", [["top"], ["status", "--watch"]], ids=" ".join)
def test_what_is_wrong_is_on_a_small_screen_of_a_large_pipeline(project: Path, words: list[str]) -> None:
    write(project, large_story())
    screen, after = screens(
        [*COMMAND, *words, str(project)], columns=80, lines=24, first="prints all", then=lambda: None, last="prints all"
    )
    shown = re.sub(r"\x1b\[[?\d;]*[A-Za-z]", "", screen)
    for word in ("[EXPECTATION_FAILED]", "Fix: Correct the data at its source", "dataset_47  failed", " more "):
        assert word in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert not _COLOUR.search(screen)
    assert "dataset_00" in after.rpartition("\x1b[?1049l")[2]  # all of it stays


def test_colours_are_shown_unless_they_are_not_wanted(recorded: Path) -> None:
    for colour in (False, True):
        screen, _ = screens([*COMMAND, "status", str(recorded)], columns=80, first="silver_orders", colour=colour)
        assert bool(_COLOUR.search(screen)) is colour


def test_events_are_followed_in_eighty_columns(recorded: Path) -> None:
    command = [*COMMAND, "events", str(recorded), "--follow", "-n", "0"]
    screen, _ = screens(command, columns=80, first="  orders is complete", then=lambda: None)
    lines = screen.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(re.fullmatch(r"\S+ \S+  ERROR    \S.*", line) for line in lines)
    assert any(line.startswith(" " * 30) for line in lines)
    assert "\x1b" not in screen


def test_top_before_the_first_run(project: Path) -> None:
    assert "'penstock run' runs the pipeline" in ask("top", str(project))
    assert json.loads(ask("top", str(project), "--json")) == {"update": None, "flows": []}


def test_top_has_the_busiest_first_or_what_is_asked_for(recorded: Path) -> None:
    def first(*words: str) -> Any:
        return json.loads(ask("top", str(recorded), "--json", *words))["flows"][0]["flow"]

    assert first("--sort", "state") == "hourly_revenue"
    assert first("--sort", "BATCH") == "revenue_report"
    assert first("--sort", "lag") == "bronze_orders"
    assert first("--sort", "name") == "bronze_orders"


def test_top_refuses_an_order_that_it_does_not_know(recorded: Path) -> None:
    ask("top", str(recorded), "--sort", "size", code=2)


def test_top_of_a_run_tells_who_falls_behind(project: Path) -> None:
    with running(project) as log:
        for event in busy_story().events[1:]:
            log.append(
                event.event_type,
                event.message,
                event.details,
                dataset=event.origin.dataset_name,
                flow=event.origin.flow_name,
                batch_id=event.origin.batch_id,
            )
        shown = ask("top", str(project), "--sort", "batch")
    assert "2 flows, 2 at work, 1 falling behind" in shown
    assert "slow falls behind: the backlog grew from 100 to 300 rows in 3 batches" in shown
    assert shown.index("slow  ") < shown.index("quick  ")


# --- status --watch -------------------------------------------------------------


def test_watching_through_a_pipe_prints_each_change_and_ends_with_ctrl_c(project: Path) -> None:
    with watched(project, "--json") as watching:
        assert watching.stdout is not None
        assert json.loads(watching.stdout.readline())["datasets"] == []
        recorded_orders(str(project / ".penstock"))
        last = json.loads(watching.stdout.readline())
        while len(last["datasets"]) < 4 or last["update"]["state"] != "COMPLETED":
            last = json.loads(watching.stdout.readline())
        watching.send_signal(signal.SIGINT)
        assert watching.wait(10) == 0
        assert watching.stdout.read() == ""  # nothing is printed that was not new


def test_watching_through_a_pipe_without_json_prints_the_report(project: Path) -> None:
    with watched(project) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline() == "No update yet.\n"
        recorded_orders(str(project / ".penstock"))
        until(watching.stdout, "silver_orders")
        watching.send_signal(signal.SIGINT)
        assert watching.wait(10) == 0


def test_watching_on_a_terminal_draws_in_place_and_leaves_the_last_report(project: Path) -> None:
    before, after = screens(
        [*COMMAND, "status", str(project), "--watch"],
        columns=100,
        first="No update yet.",
        then=lambda: recorded_orders(f"{project}/.penstock"),
        last="silver_orders",
    )
    assert "No update yet." in before
    assert "silver_orders" in after.rpartition("\x1b[?1049l")[2]  # on the screen that was there before


def test_a_log_that_is_begun_anew_is_shown_from_its_beginning(project: Path) -> None:
    log = FollowedLog(str(project / ".penstock"), StatusProjection)
    write(project, busy_story())
    assert [one.name for one in log.look().status().datasets] == ["s.slow", "s.quick"]
    (project / ".penstock/events/000001-0001.jsonl").unlink()
    again = Story()
    again.update("u2")
    again.status("s.other", FlowStatus.RUNNING)
    write(project, again, name="000002")
    assert [one.name for one in log.look().status().datasets] == ["s.other"]


def test_a_killed_run_is_seen_although_its_log_says_nothing(project: Path) -> None:
    write(project, busy_story())
    log = FollowedLog(str(project / ".penstock"), StatusProjection)
    assert log.holder() is None
    with running(project):
        assert log.holder() is not None


# --- harness ------------------------------------------------------------------


@contextmanager
def running(project: Path) -> Iterator[EventLog]:
    from penstock.storage import LockOwner, StorageLock

    storage = str(project / ".penstock")
    with (
        StorageLock(storage, LockOwner.current()),
        EventLog.open(storage, pipeline_name="p", update_id="u1") as log,
    ):
        log.append(EventType.CREATE_UPDATE, *builders.create_update(pipeline="p", cause="USER_ACTION", version="1"))
        yield log


@contextmanager
def watched(project: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    command = [*COMMAND, "status", str(project), "--watch", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watching:
        try:
            yield watching
        finally:
            watching.kill()


def until(lines: Any, word: str) -> None:
    while line := lines.readline():
        if word in line:
            return
    pytest.fail(f"the output ended without '{word}'")


_COLOUR = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-8]|9[0-7])(?:;\d+)*m")


def screens(
    command: list[str],
    *,
    columns: int,
    first: str,
    then: Any = None,
    last: str = "",
    lines: int = 40,
    colour: bool = False,
) -> tuple[str, str]:
    """Runs it on a terminal; returns what it wrote until `first`, and with `then` called, until `last` and Ctrl-C."""
    ours, its = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "LINES": str(lines), "TERM": "xterm"}
    environment |= {"NO_COLOR": "" if colour else "1"}
    with subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment) as process:
        os.close(its)
        try:
            before = _written(ours, until=first)
            if then is None:
                return before + _written(ours), ""
            then()
            drawn = _written(ours, until=last)
            process.send_signal(signal.SIGINT)
            after = drawn + _written(ours)
            assert process.wait(10) == 0
            return before, after
        finally:
            process.kill()
            os.close(ours)


def _written(ours: int, *, until: str | None = None, seconds: float = 10) -> str:
    end, written = time.monotonic() + seconds, b""
    while (left := end - time.monotonic()) > 0 and (until is None or until.encode() not in written):
        if select.select([ours], [], [], left)[0]:
            try:
                written += os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
    return written.decode()
