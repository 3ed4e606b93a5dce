"""How much changed in a Delta table between two versions, by its log alone."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from penstock.storage.delta.changes import TableChange, change_between
from penstock.storage.delta.commits import CommitOutOfReach


def _commit(table: Path, version: int, *actions: dict[str, object]) -> None:
    lines = "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in actions)
    (table / "_delta_log" / f"{version:020d}.json").write_text(lines)


def test_rows_that_were_added_and_removed(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for first in (0, 10, 20):
        write_deltalake(path, pa.table({"id": list(range(first, first + 5))}), mode="append")
    added = change_between(path, 0, 2)
    assert added.adds
    assert not added.removes
    assert added.added > 1.5 * min(file.stat().st_size for file in Path(path).glob("*.parquet"))
    DeltaTable(path).delete("id = 11")
    changed = change_between(path, 2, 3)
    assert changed.removes
    assert changed.removed > 0
    assert not change_between(path, 3, 3)


def test_files_that_were_put_together_are_no_change(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for number in range(3):
        write_deltalake(path, pa.table({"id": [number]}), mode="append")
    DeltaTable(path).optimize.compact()
    assert DeltaTable(path).version() == 3
    assert change_between(path, 2, 3) == TableChange()


def test_rows_that_were_marked_as_deleted_are_removed_without_bytes(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path), pa.table({"id": [1, 2]}))
    file = {"path": "a.parquet", "size": 500, "dataChange": True}
    _commit(tmp_path, 1, {"remove": file}, {"add": file | {"deletionVector": {"cardinality": 1}}})
    assert change_between(str(tmp_path), 0, 1) == TableChange(removes=True)


def test_a_commit_that_was_cleaned_up_is_out_of_reach(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for _ in range(3):
        write_deltalake(path, pa.table({"id": [1]}), mode="append")
    (tmp_path / "t/_delta_log/00000000000000000001.json").unlink()
    with pytest.raises(CommitOutOfReach):
        change_between(path, 0, 2)
    assert change_between(path, 1, 2).adds
