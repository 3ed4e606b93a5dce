"""Files that something writes for long are told once while a run goes on, and again when it ends without them."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from penstock.runtime.flows.files import read_files
from penstock.runtime.flows.files.read_files import UnsettledFiles


def test_a_file_that_is_waited_for_at_two_looks_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    services: Any = Mock()
    held = [f"in/{number}" for number in range(5)]
    monkeypatch.setattr(read_files, "unsettled_files", lambda *_: held)
    monkeypatch.setattr(read_files, "_PAUSE_SECONDS", 0.0)
    files = UnsettledFiles(Mock(), services, "checkpoint")

    def told() -> list[str]:
        said = [call.kwargs["reason"] for call in services.reporter.flow.call_args_list]
        services.reporter.flow.reset_mock()
        return said

    files.between_batches()
    assert told() == [], "it has only just been seen"
    files.between_batches()
    [waits] = told()
    assert "waits for in/0, in/1, in/2 and 2 more" in waits
    held.append("in/later")
    files.between_batches()
    files.between_batches()
    [waits] = told()
    assert "waits for in/later:" in waits
    held[:] = ["in/4"]
    files.after_end()
    [left] = told()
    assert "leaves to its next run in/4:" in left
