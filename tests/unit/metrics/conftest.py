"""The log of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.events import EventLog


@pytest.fixture
def log(tmp_path: Path) -> EventLog:
    return EventLog.open(str(tmp_path / "storage"), pipeline_name="orders", update_id="u1")
