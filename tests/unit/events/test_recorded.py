"""The recorded log is what its builder makes, and what it says of itself."""

from __future__ import annotations

from pathlib import Path

from tests.recorded.build import RECORDED, recorded_orders

from penstock.events import read_events


def test_the_recorded_log_is_current(tmp_path: Path) -> None:
    recorded_orders(str(tmp_path))
    for made in sorted((tmp_path / "events").iterdir()):
        kept = RECORDED / "events" / made.name
        assert kept.read_text() == made.read_text(), "run: python -m tests.recorded.build"


def test_it_names_no_file_of_this_machine() -> None:
    assert str(RECORDED.parent.parent) not in "".join(event.message for event in read_events(str(RECORDED)))
