"""What the interrupted creation of a table has left is taken away, and nothing that a table may need."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.storage.delta.log import remove_unfinished_log


def test_a_log_without_a_commit_is_removed(tmp_path: Path) -> None:
    log = tmp_path / "_delta_log"
    (log / "_staged_commits").mkdir(parents=True)
    (log / ".00000000000000000000.json.1b4e28ba.tmp").touch()
    remove_unfinished_log(str(tmp_path))
    assert list(tmp_path.iterdir()) == []
    remove_unfinished_log(str(tmp_path / "nothing"))


@pytest.mark.parametrize(
    "file", ["_delta_log/00000000000000000000.json", "_delta_log/_last_checkpoint", "part-0.parquet", ".kept"]
)
def test_what_else_is_there_stays(tmp_path: Path, file: str) -> None:
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / file).touch()
    remove_unfinished_log(str(tmp_path))
    assert (tmp_path / file).exists()
    assert (tmp_path / "_delta_log").exists()
