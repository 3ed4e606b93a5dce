"""Commands that read the event log, on one that is cut off, foreign, of a newer version, hostile, or gone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.recorded.build import recorded_orders
from typer.testing import CliRunner

from penstock.access.sight import everything
from penstock.cli.commands.watching.events import LevelName, _Filter, _follow
from penstock.cli.main import app

COMMANDS = (
    ["status"],
    ["status", "--json"],
    ["events", "--count", "0"],
    ["events", "--json"],
    ["audit"],
    ["alerts", "check"],
    ["metrics", "show"],
    ["watermark"],
)
HOSTILE = "shop.\x1b]0;owned\x07\x1b[2J../../x<script>"


def cut_off(segment: Path) -> None:
    segment.write_bytes(segment.read_bytes()[:-40])


def foreign(segment: Path) -> None:
    segment.write_bytes(b"\x00\xff\xfe\n{}\n[]\nnull\n" + b"x" * 100_000 + b"\n" + segment.read_bytes())


def newer(segment: Path) -> None:
    """Types, levels, states and keys that this version does not know, in lines that are otherwise as they should be."""
    lines = segment.read_text().splitlines()
    found = []
    for line in lines:
        event = json.loads(line)
        details = json.loads(event["details"])
        for kind in details:
            details[kind] = {**details[kind], "status": "TELEPORTED", "state": "BEYOND", "action": "FLY", "new": [1]}
        found += [
            {**event, "new_column": 1, "details": json.dumps(details)},
            {**event, "event_type": "of_tomorrow", "details": json.dumps({"of_tomorrow": 1})},
            {**event, "level": "LOUD"},
        ]
    segment.write_text("".join(json.dumps(each, separators=(",", ":")) + "\n" for each in found))


def hostile(segment: Path) -> None:
    segment.write_text(segment.read_text().replace("shop.silver_orders", json.dumps(json.dumps(HOSTILE)[1:-1])[1:-1]))


def nothing(segment: Path) -> None:
    segment.write_bytes(b"")


@pytest.mark.parametrize("change", [cut_off, foreign, newer, hostile, nothing], ids=lambda each: each.__name__)
def test_commands_read_what_they_can(tmp_path: Path, change: Callable[[Path], None]) -> None:
    (tmp_path / "penstock.yml").write_text("name: orders\nschema: shop\n")
    recorded_orders(str(tmp_path / ".penstock"))
    for segment in (tmp_path / ".penstock" / "events").iterdir():
        change(segment)
    for command in COMMANDS:
        done = CliRunner().invoke(app, [*command, str(tmp_path)])
        assert "INTERNAL_ERROR" not in done.output, command
        assert "Traceback" not in done.output, command
        assert done.exit_code in {0, 1, 2, 3}, (command, done.output)
        assert not set(done.output) & set("\x1b\x07"), command


def test_following_goes_on_with_the_log_that_comes_after_one_that_is_gone(tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    recorded_orders(str(storage))
    following = _follow(str(storage), _Filter(LevelName.METRICS, None, everything), 1)
    assert next(following).message
    shutil.rmtree(storage)
    recorded_orders(str(storage), finished=False)
    assert next(following).sequence == 0
