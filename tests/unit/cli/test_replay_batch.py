"""What `penstock replay` prints."""

from __future__ import annotations

import json

import pytest

from penstock.cli.commands.checkpoints.replay_batch import _show, _to_json
from penstock.graph.identifier import Identifier
from penstock.plan.state import RecordedBatch
from penstock.runtime.commands.batch_replay import ReplayedBatch
from penstock.spark.plans.row_difference import DifferentRow, RowDifference
from penstock.storage.checkpoint.folder import CheckpointFolder

ROWS = (DifferentRow(False, 1, (5, None)), DifferentRow(True, 2, (5, 9)))


@pytest.fixture
def recorded(tmp_path: object) -> RecordedBatch:
    folder = CheckpointFolder.open(str(tmp_path))
    return RecordedBatch(Identifier("shop", "orders"), "orders", "shop.orders", 3, folder, "p", 6, 7)


def test_the_difference_as_one_document(recorded: RecordedBatch) -> None:
    told = _to_json(recorded, ReplayedBatch(RowDifference(("id", "n"), 4, 2, 1, ROWS), None, hides_rows=False))
    assert json.loads(json.dumps(told)) == {
        "table": "shop.orders",
        "flow": "orders",
        "batch": 3,
        "version": 7,
        "same": False,
        "rows": {"equal": 4, "only_in_replay": 2, "only_in_table": 1},
        "difference": [
            {"only_in": "table", "times": 1, "row": {"id": 5, "n": None}},
            {"only_in": "replay", "times": 2, "row": {"id": 5, "n": 9}},
        ],
        "kept": None,
    }


def test_people_learn_that_there_are_more_rows(recorded: RecordedBatch, capsys: pytest.CaptureFixture[str]) -> None:
    _show(recorded, ReplayedBatch(RowDifference(("id", "n"), 4, 9, 1, ROWS), "kept/here", hides_rows=False))
    shown = capsys.readouterr()
    assert "4 equal, 9 only in the replay, 1 only in the table" in shown.out
    assert "NULL" in shown.out
    assert "--limit" in shown.err
    assert "kept/here" in shown.err


def test_rows_of_a_protected_table_are_not_shown(recorded: RecordedBatch, capsys: pytest.CaptureFixture[str]) -> None:
    hidden = ReplayedBatch(RowDifference(("id", "n"), 4, 2, 1, ()), None, hides_rows=True)
    _show(recorded, hidden)
    assert "row filter" in capsys.readouterr().err
    assert _to_json(recorded, hidden)["difference"] is None
