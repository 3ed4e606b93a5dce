"""Which files committed batches have read, and which of them were still being written."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from tests.recorded.checkpoints import RAW, copied_checkpoints, place, plan_batch, write

from penstock.storage.checkpoint.committed_files import (
    committed_step,
    committed_steps,
    files_changed_after,
    files_of_steps,
)

SOURCE = "cloudFiles_orders"


@pytest.fixture
def checkpoint(recorded: Path, tmp_path: Path) -> Path:
    return place(copied_checkpoints(recorded, tmp_path / "storage"), RAW)


def _step(checkpoint: Path, step: int, *files: Path) -> None:
    listed = [{"path": f.as_uri(), "timestamp": f.stat().st_mtime_ns // 1_000_000, "batchId": step} for f in files]
    write(checkpoint, f"sources/{SOURCE}/{step}", "\n".join(["v1", *map(json.dumps, listed)]).encode())


def test_only_committed_batches_count(checkpoint: Path) -> None:
    assert committed_step(str(checkpoint), SOURCE) == 11
    plan_batch(checkpoint, 12, {"topic": {"orders": {"0": 7}}, SOURCE: {"logOffset": 13}})
    assert committed_step(str(checkpoint), SOURCE) == 11
    assert [steps[SOURCE] for steps in committed_steps(str(checkpoint))][:2] == [11, 10]
    assert committed_step(str(checkpoint), "topic") is None, "it reads no files"
    assert committed_step(str(checkpoint / "nothing"), SOURCE) is None


def test_steps_that_are_only_in_a_compacted_file(checkpoint: Path) -> None:
    names = {path.name for path in (checkpoint / f"sources/{SOURCE}").iterdir()}
    assert "9.compact" in names
    assert "9" not in names
    found = {
        step: [Path(file.path).name for file in files] for step, files in files_of_steps(str(checkpoint), SOURCE, 7, 10)
    }
    assert found == {step: [f"orders-{step:05}.json"] for step in range(7, 11)}
    with pytest.raises(FileNotFoundError):
        list(files_of_steps(str(checkpoint), SOURCE, 11, 50))


def test_a_file_that_grew_after_it_was_read(checkpoint: Path, tmp_path: Path) -> None:
    young, old, whole, gone = (tmp_path / name for name in ("young", "old", "whole", "gone"))
    for file in (young, old, whole, gone):
        file.write_text("first half")
    os.utime(old, (1, 1))
    _step(checkpoint, 12, young, old, whole, gone)
    assert list(files_changed_after(str(checkpoint), SOURCE, 12, 12)) == []
    later = time.time() + 5
    for file in (young, old):
        os.utime(file, (later, later))
    gone.unlink()
    assert list(files_changed_after(str(checkpoint), SOURCE, 12, 12)) == [str(young)]
