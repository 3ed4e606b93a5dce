"""Which version of a table a batch has made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.care.checkpoints.table_history import find_batch


def table(folder: Path, *batches: int | None, begin: int = 1) -> str:
    """A log whose commits after the first one are those batches; None is a commit of somebody else."""
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    for version, batch in enumerate(batches, start=begin):
        noted = {"appId": "other", "version": 9} if batch is None else {"appId": "mine", "version": batch}
        (log / f"{version:020d}.json").write_text(json.dumps({"txn": noted}) + "\n")
    if begin == 1:
        (log / f"{0:020d}.json").write_text("{}\n")
    return str(folder)


@pytest.mark.parametrize(
    ("batch", "found"),
    [(0, (1, 0)), (2, (4, 3)), (1, (None, 1)), (3, (None, 4)), (4, (6, 5))],
    ids=["first", "after another's", "without rows", "without rows, before another's", "newest"],
)
def test_a_batch_is_found_with_the_version_before(tmp_path: Path, batch: int, found: tuple[int | None, int]) -> None:
    assert find_batch(table(tmp_path / "t", 0, None, None, 2, None, 4), 6, "mine", batch) == found


def test_a_log_that_was_cleaned_up_does_not_tell(tmp_path: Path) -> None:
    uri = table(tmp_path / "t", 5, 6, begin=7)
    assert find_batch(uri, 8, "mine", 6) == (8, 7)
    assert find_batch(uri, 8, "mine", 4) is None
