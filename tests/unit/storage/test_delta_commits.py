from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from penstock.storage import Storage
from penstock.storage.delta.commits import CommitOutOfReach, DeltaCommits, parse_commit


def _write(table: Path, rows: int, transaction: tuple[str, int] | None = None) -> None:
    noted = [] if transaction is None else [Transaction(*transaction)]
    content = pa.table({"id": pa.array(range(rows), pa.int64())})
    write_deltalake(str(table), content, mode="append", commit_properties=CommitProperties(app_transactions=noted))


def test_each_batch_has_its_own_commit_among_those_of_others(tmp_path: Path) -> None:
    _write(tmp_path, 1, ("mine", 0))
    _write(tmp_path, 2)
    commits = DeltaCommits(str(tmp_path))
    first = commits.of_transaction("mine", 0)
    assert first is not None
    assert (first.version, first.rows, first.transaction) == (0, 1, ("mine", 0))
    assert commits.of_transaction("mine", 1) is None  # a batch that wrote nothing, or not yet
    _write(tmp_path, 3, ("other", 2))
    _write(tmp_path, 4, ("mine", 2))
    _write(tmp_path, 5, ("mine", 3))  # committed before anybody asks for batch 2
    assert [commit and commit.rows for commit in (commits.of_transaction("mine", n) for n in (2, 3, 4))] == [4, 5, None]


def test_a_query_that_is_ahead_when_it_is_first_asked_for(tmp_path: Path) -> None:
    for number in range(4):
        _write(tmp_path, number, ("mine", number))
        _write(tmp_path, 9, ("other", number))
    commits = DeltaCommits(str(tmp_path))
    assert [commit and commit.rows for commit in (commits.of_transaction("mine", n) for n in (1, 2, 3, 4))] == [
        1,
        2,
        3,
        None,
    ]


def test_a_log_that_was_cleaned_up_meanwhile_is_looked_at_again(tmp_path: Path) -> None:
    _write(tmp_path, 1, ("mine", 0))
    commits = DeltaCommits(str(tmp_path))
    assert commits.of_transaction("mine", 0) is not None
    _write(tmp_path, 1)
    _write(tmp_path, 2, ("mine", 1))
    DeltaTable(str(tmp_path)).create_checkpoint()
    for version in (0, 1):
        (tmp_path / f"_delta_log/{version:020d}.json").unlink()
    found = commits.of_transaction("mine", 1)
    assert found is not None
    assert found.rows == 2
    assert commits.of_transaction("mine", 2) is None


def test_what_the_operation_says_counts_before_what_the_files_hold() -> None:
    info = {"commitInfo": {"operation": "WRITE", "operationMetrics": {"numOutputRows": "7"}, "userMetadata": "note"}}
    held = {"add": {"path": "a", "stats": json.dumps({"numRecords": 6})}}
    lines = [info, {"txn": {"appId": "a", "version": 3}}, held, {"add": {"path": "b"}}]
    content = "\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
    commit = parse_commit(5, content)
    assert (commit.version, commit.operation, commit.rows) == (5, "WRITE", 7)
    assert (commit.transaction, commit.note) == (("a", 3), "note")
    assert parse_commit(5, json.dumps(held, separators=(",", ":"))).rows == 6
    assert parse_commit(5, content.replace("numOutputRows", "numOther")).rows is None  # one file does not tell


def test_a_merge_has_written_what_it_inserted_and_updated() -> None:
    metrics = {"numOutputRows": "100", "numTargetRowsInserted": "3", "numTargetRowsUpdated": "4"}  # 93 were copied
    info = {"commitInfo": {"operation": "MERGE", "operationMetrics": metrics}}
    assert parse_commit(5, json.dumps(info, separators=(",", ":"))).rows == 7


@pytest.mark.parametrize("checkpoint", [None, 3])
def test_the_newest_of_many_commits_is_found(tmp_path: Path, checkpoint: int | None) -> None:
    for number in range(12):
        _write(tmp_path, number, ("mine", number))
        if number == checkpoint:
            DeltaTable(str(tmp_path)).create_checkpoint()
        found = DeltaCommits(str(tmp_path)).of_transaction("mine", number)
        assert found is not None
        assert (found.version, found.rows) == (number, number)


def test_the_newest_write_is_found_behind_maintenance(tmp_path: Path) -> None:
    _write(tmp_path, 2)
    _write(tmp_path, 3)
    DeltaTable(str(tmp_path)).optimize.compact()
    found = DeltaCommits(str(tmp_path)).newest_write("")
    assert found is not None
    assert (found.version, found.rows) == (1, 3)
    assert DeltaCommits(str(tmp_path)).newest_write("other") is None


def test_a_running_flow_reads_one_commit_for_each_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        _write(tmp_path, 1, ("mine", number))
    reads: list[str] = []
    read_text = Storage.read_text

    def counting(self: Storage, path: str) -> str:
        reads.append(path)
        return read_text(self, path)

    monkeypatch.setattr(Storage, "read_text", counting)
    commits = DeltaCommits(str(tmp_path))
    assert commits.of_transaction("mine", 4) is not None
    assert reads == ["_delta_log/_last_checkpoint", "_delta_log/00000000000000000004.json"]
    for number in range(5, 8):
        _write(tmp_path, 1, ("mine", number))
        reads.clear()
        assert commits.of_transaction("mine", number) is not None
        assert reads == [f"_delta_log/{number:020d}.json"]


def test_nothing_is_said_of_commits_that_are_out_of_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.storage.delta.commits._LOOKED_BACK", 3)
    for _ in range(3):
        _write(tmp_path, 1)
    assert DeltaCommits(str(tmp_path)).of_transaction("mine", 0) is None  # the first commit has been looked at
    _write(tmp_path, 1)
    with pytest.raises(CommitOutOfReach, match="the newest 3 commits have no counts"):
        DeltaCommits(str(tmp_path)).of_transaction("mine", 0)
    _write(tmp_path, 1, ("mine", 0))
    assert DeltaCommits(str(tmp_path)).of_transaction("mine", 1) is None  # it would have come after batch 0
    DeltaTable(str(tmp_path)).create_checkpoint()
    (tmp_path / f"_delta_log/{4:020d}.json").unlink()
    with pytest.raises(CommitOutOfReach, match="commit 4 no longer exists"):
        DeltaCommits(str(tmp_path)).of_transaction("mine", 0)


def test_a_torn_commit_is_refused() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        parse_commit(0, '{"commitInfo":')
