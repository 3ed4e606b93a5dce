"""Which files a batch was about to read when its query failed, from the checkpoint alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.recorded.checkpoints import RAW, copied_checkpoints, place, plan_batch, write

from penstock.storage.checkpoint.planned_files import planned_uris

SOURCE = "cloudFiles_orders"


@pytest.fixture
def checkpoint(recorded: Path, tmp_path: Path) -> Path:
    return place(copied_checkpoints(recorded, tmp_path / "storage"), RAW)


def test_nothing_failed(checkpoint: Path) -> None:
    assert planned_uris(str(checkpoint), SOURCE) == ()
    assert planned_uris(str(checkpoint / "nothing"), SOURCE) == ()


def test_the_steps_since_the_batch_before(checkpoint: Path) -> None:
    for step in (12, 13):
        entry = f'{{"path":"file:///data/new%20{step}.json","timestamp":1,"batchId":{step}}}'
        write(checkpoint, f"sources/{SOURCE}/{step}", f"v1\n{entry}".encode())
    plan_batch(checkpoint, 12, {"topic": {"orders": {"0": 7}}, SOURCE: {"logOffset": 13}})
    assert planned_uris(str(checkpoint), SOURCE) == ("file:///data/new 12.json", "file:///data/new 13.json")
    assert planned_uris(str(checkpoint), "other") == ()


def test_the_first_batch_and_a_compacted_step(checkpoint: Path) -> None:
    for batch in range(12):
        (checkpoint / f"commits/{batch}").unlink()
        if batch != 9:
            (checkpoint / f"offsets/{batch}").unlink()
    files = planned_uris(str(checkpoint), SOURCE)
    assert files == tuple(f"file:///data/orders-{step:05}.json" for step in range(5, 10)), "older steps are deleted"
