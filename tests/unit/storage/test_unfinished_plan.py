"""What an interrupted write of a query's first plan has left is taken away, and no plan ever."""

from __future__ import annotations

from pathlib import Path

from penstock.storage.checkpoint.newest import remove_unfinished_plan


def test_only_a_folder_without_a_plan_is_cleared(tmp_path: Path) -> None:
    remove_unfinished_plan(str(tmp_path))
    offsets = tmp_path / "offsets"
    offsets.mkdir()
    left_over = offsets / ".0.1b4e28ba-2fa1-11d2-883f-0016d3cca427.tmp"
    left_over.touch()
    remove_unfinished_plan(str(tmp_path))
    assert list(offsets.iterdir()) == []
    for file in (left_over, offsets / "0"):
        file.touch()
    remove_unfinished_plan(str(tmp_path))
    assert {file.name for file in offsets.iterdir()} == {left_over.name, "0"}
