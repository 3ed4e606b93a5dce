"""The long log of the dashboard's benchmark is one that runs could have written."""

from __future__ import annotations

from pathlib import Path

from benchmarks.compare import _goals_table
from benchmarks.dashboard.long_log import LogWriter

from penstock.events import EventReader
from penstock.observe.status.pipeline_status import project_status


def test_every_line_counts(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path, tables=3)
    writer.define()
    writer.rounds(50_000)
    writer.append_round()
    reader = EventReader(str(tmp_path))
    events = reader.poll()
    assert reader.skipped == 0
    assert [event.sequence for event in events] == list(range(writer.events))
    status = project_status(events)
    rounds = (len(events) - 8) // 6
    assert [dataset.rows for dataset in status.datasets] == [990 * rounds] * 3
    assert all(dataset.accounts is not None and dataset.accounts.balanced == rounds for dataset in status.datasets)


def test_goals_are_judged() -> None:
    table = _goals_table([{"what": "page", "value": 0.6, "goal": 0.5, "unit": "s"}])
    assert table.splitlines()[-1].split() == ["|", "page", "|", "0.6", "s", "|", "0.5", "s", "|", "no", "|"]
