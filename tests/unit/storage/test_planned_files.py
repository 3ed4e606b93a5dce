"""What a planned batch reads, and where a source goes on, from files as Spark writes them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from penstock.storage.checkpoint.planned_files import (
    PlannedFile,
    changed_files,
    list_planned_files_again,
    planned_files,
)
from penstock.storage.checkpoint.source_offsets import move_source, newest_batch, newest_offsets

_METADATA = '{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}'


def _batch(checkpoint: Path, number: int, offsets: dict[str, object], *, committed: bool = True) -> None:
    for folder in ("offsets", "commits"):
        (checkpoint / folder).mkdir(parents=True, exist_ok=True)
    lines = [f"{name}:{'-' if offset is None else json.dumps(offset)}" for name, offset in offsets.items()]
    (checkpoint / f"offsets/{number}").write_text("\n".join(["v2", _METADATA, *lines]))
    (checkpoint / f"offsets/.{number}.crc").write_text("checksum")
    if committed:
        (checkpoint / f"commits/{number}").write_text('v1\n{"nextBatchWatermarkMs":0}')


def _listed(checkpoint: Path, step: str, files: list[tuple[Path, int]]) -> None:
    (checkpoint / "sources/orders").mkdir(parents=True, exist_ok=True)
    entries = [
        {"path": f"file://{str(file).replace(' ', '%20')}", "timestamp": file.stat().st_mtime_ns // 10**6, "batchId": n}
        for file, n in files
    ]
    lines = "\n".join(json.dumps(entry) for entry in entries)
    (checkpoint / f"sources/orders/{step}").write_text(f"v1\n{lines}")


def test_files_of_a_planned_batch_that_are_gone_or_others_are_named(tmp_path: Path) -> None:
    files = [tmp_path / "in" / name for name in ("read.json", "a b.json", "kept.json", "new.json")]
    files[0].parent.mkdir()
    for file in files:
        file.write_text("{}")
    checkpoint = tmp_path / "checkpoint"
    _listed(checkpoint, "0", [(files[0], 0)])
    _listed(checkpoint, "1.compact", [(files[0], 0), (files[1], 1), (files[2], 1)])
    _listed(checkpoint, "2", [(files[3], 2)])
    _batch(checkpoint, 0, {"orders": {"logOffset": 0}, "table": None})
    _batch(checkpoint, 1, {"orders": {"logOffset": 2}, "table": {"reservoirId": "t"}}, committed=False)
    planned = planned_files(str(checkpoint))
    assert [file.path for file in planned] == [str(file) for file in files[1:]]
    assert not changed_files(planned)
    files[0].unlink()  # read and committed: nobody needs it any more
    files[1].unlink()
    os.utime(files[3], (1, 1))
    changed = changed_files(planned)
    assert (changed.deleted, changed.overwritten) == ((str(files[1]),), (str(files[3]),))
    allowed = changed_files(planned_files(str(checkpoint), {"orders"}))
    assert (allowed.deleted, allowed.overwritten) == ((str(files[1]),), ()), "a file that is gone is lost all the same"
    list_planned_files_again(str(checkpoint), {"others"})
    assert changed_files(planned_files(str(checkpoint))).overwritten == (str(files[3]),)
    list_planned_files_again(str(checkpoint), {"orders"})
    assert str(changed_files(planned_files(str(checkpoint)))) == f"deleted: {files[1]}"
    assert planned_files(str(checkpoint))[-1].listed_ms == 1000
    assert (checkpoint / "sources/orders/2").read_text().startswith('v1\n{"path":"file:///')
    assert str(changed) == f"deleted: {files[1]}; overwritten: {files[3]}"
    _batch(checkpoint, 1, {"orders": {"logOffset": 2}})
    assert planned_files(str(checkpoint)) == ()


def test_first_batch_in_flight_reads_all_steps_so_far(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.json", "b.json")]
    for step, file in enumerate(files):
        file.write_text("{}")
        _listed(tmp_path / "checkpoint", str(step), [(file, step)])
    _batch(tmp_path / "checkpoint", 0, {"orders": {"logOffset": 1}}, committed=False)
    assert [file.path for file in planned_files(str(tmp_path / "checkpoint"))] == list(map(str, files))


def test_checkpoint_without_a_plan_has_no_newest_batch(tmp_path: Path) -> None:
    checkpoint = str(tmp_path / "checkpoint")
    assert (newest_batch(checkpoint), newest_offsets(checkpoint), planned_files(checkpoint)) == (None, {}, ())
    _batch(tmp_path / "checkpoint", 9, {"orders": {"logOffset": 1}})
    _batch(tmp_path / "checkpoint", 10, {"orders": {"logOffset": 2}})
    assert (newest_batch(checkpoint), newest_offsets(checkpoint)) == (10, {"orders": {"logOffset": 2}})
    assert newest_offsets(checkpoint, back=1) == {"orders": {"logOffset": 1}}
    assert newest_offsets(checkpoint, back=2) == {}


def test_many_files_are_named_by_the_first_ones() -> None:
    gone = tuple(PlannedFile(f"/nowhere/{number}.json", 0) for number in range(5))
    text = "deleted: /nowhere/0.json, /nowhere/1.json, /nowhere/2.json and 2 more"
    assert str(changed_files(gone)) == text


@pytest.mark.parametrize("offset", [None, {"reservoirId": "t", "reservoirVersion": 7}])
def test_a_source_goes_on_elsewhere_between_batches_only(tmp_path: Path, offset: dict[str, object] | None) -> None:
    for number in range(3):
        _batch(tmp_path, number, {"a": {"reservoirId": "t", "reservoirVersion": number}, "b": {"logOffset": number}})
    assert move_source(str(tmp_path), "a", offset)
    assert newest_offsets(str(tmp_path)) == {"a": offset, "b": {"logOffset": 2}}
    assert newest_offsets(str(tmp_path), back=1) == {"a": offset, "b": {"logOffset": 1}}
    assert newest_offsets(str(tmp_path), back=3) == {}
    first, second, third = ((tmp_path / f"offsets/{number}").read_text() for number in range(3))
    assert '"reservoirVersion": 0' in first
    assert second.splitlines()[2] == third.splitlines()[2]
    assert '"logOffset": 1' in second
    assert [(tmp_path / f"offsets/.{number}.crc").exists() for number in range(3)] == [True, False, False]
    _batch(tmp_path, 3, {"a": {"reservoirId": "t", "reservoirVersion": 9}}, committed=False)
    assert not move_source(str(tmp_path), "a", offset)
    assert newest_offsets(str(tmp_path)) == {"a": {"reservoirId": "t", "reservoirVersion": 9}}
    assert not move_source(str(tmp_path / "none"), "a", None)
    assert newest_offsets(str(tmp_path / "none")) == {}


def test_files_that_only_spark_can_reach_are_taken_to_be_as_listed() -> None:
    assert not changed_files((PlannedFile("oss://lake/in/a.json", 1),))
