"""A long log in small segments."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.recorded.years import BEGINNING, Recorder

from penstock.events.log import event_log
from penstock.observe.log import totals

_LATER = BEGINNING.replace(year=2027)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments, and what is worth a step, are as small as a part of an update."""
    monkeypatch.setattr(event_log, "_SEGMENT_BYTES", 20_000)
    monkeypatch.setattr(totals, "WORTH_IT", 1)
    monkeypatch.setattr(totals, "AT_ONCE", 50_000)


@pytest.fixture(scope="module")
def ten_days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    storage = tmp_path_factory.mktemp("recorded")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(event_log, "_SEGMENT_BYTES", 20_000)
        Recorder(str(storage), 7, batches=5).record(10)
    return storage


@pytest.fixture
def recorded(tmp_path: Path, ten_days: Path) -> str:
    shutil.copytree(ten_days, tmp_path, dirs_exist_ok=True)
    return str(tmp_path)
