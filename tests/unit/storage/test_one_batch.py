"""Copies of a checkpoint as it was before or after one of its batches."""

from __future__ import annotations

from pathlib import Path

from penstock.storage import Storage
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.logs import parse_planned_batch
from penstock.storage.checkpoint.one_batch import copy_before, copy_state_after, repeatable_batches


def checkpoint(tmp_path: Path, *files: str) -> CheckpointFolder:
    for name in ("metadata", *files):
        file = tmp_path / "checkpoint" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return CheckpointFolder.open(str(tmp_path / "checkpoint"))


def test_a_batch_is_repeatable_when_it_and_the_one_before_are_known(tmp_path: Path) -> None:
    logs = [f"{log}/{batch}" for log in ("offsets", "commits") for batch in (0, 1, 3, 4)]
    assert repeatable_batches(checkpoint(tmp_path, *logs, "offsets/5")) == (0, 1, 4)


def test_the_copy_has_the_batch_in_flight_and_nothing_of_later_ones(tmp_path: Path) -> None:
    logs = [f"{log}/{batch}" for log in ("offsets", "commits") for batch in range(5)]
    state = [f"state/0/1/{version}.changelog" for version in range(1, 6)]
    kept = ["sources/in/0", "sources/in/9.compact", "state/0/_metadata/metadata", "state/0/1/SSTs/a.sst"]
    folder = checkpoint(tmp_path, *logs, *state, *kept, "state/0/1/left/4_ab.zip", "penstock-note.json")
    copy_before(folder, 3, Storage(str(tmp_path)), str(tmp_path / "copy"))
    copy = CheckpointFolder.open(str(tmp_path / "copy"))
    begun = {"offsets/2", "offsets/3", "commits/2", "state/0/1/1.changelog", "state/0/1/2.changelog"}
    assert set(copy.files) == {*kept, *begun, "state/0/1/3.changelog", "metadata", "penstock-restored.json"}
    assert (copy.in_flight, copy.committed) == (3, 2)


def test_before_the_first_batch_there_is_none(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, "offsets/0", "commits/0", "state/0/0/1.zip")
    copy_before(folder, 0, Storage(str(tmp_path)), str(tmp_path / "copy"))
    copy = CheckpointFolder.open(str(tmp_path / "copy"))
    assert set(copy.files) == {"offsets/0", "metadata", "penstock-restored.json"}


def test_the_state_after_a_batch_comes_with_its_number_of_partitions(tmp_path: Path) -> None:
    state = [f"state/0/1/{version}.changelog" for version in range(1, 6)]
    folder = checkpoint(tmp_path, "offsets/2", "commits/2", "offsets/3", "commits/3", "sources/in/0", *state)
    metadata = '{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}'
    (tmp_path / "checkpoint/offsets/2").write_text(f'v2\n{metadata}\nin:{{"logOffset":2}}')
    copy_state_after(folder, 2, 7, Storage(str(tmp_path)), str(tmp_path / "copy"))
    copy = CheckpointFolder.open(str(tmp_path / "copy"))
    assert set(copy.files) == {"offsets/2", "commits/2", *state[:3]}
    assert parse_planned_batch(copy.read("offsets/2")).settings == {"spark.sql.shuffle.partitions": "7"}
    assert "spark" not in (tmp_path / "checkpoint/offsets/2").read_text()
