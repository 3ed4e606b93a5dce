"""Whether a batch without rows is due, and what is written for it; both formats of the offset log."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.storage import Storage
from penstock.storage.checkpoint.logs import parse_planned_batch
from penstock.storage.checkpoint.plan_file import moved_watermark, plan_batch_without_rows

OFFSETS = {"v1": ['{"logOffset":3}', "-"], "v2": ['orders:{"logOffset":3}', "late:-"]}
SETTINGS = {"spark.sql.streaming.multipleWatermarkPolicy": "max"}


def _checkpoint(root: Path, *, version: str = "v2", watermark: int = 10, after: int | None = 20) -> Storage:
    """A checkpoint with batches 6 and 7; 7 is not finished when no watermark `after` it is given."""
    for log in ("offsets", "commits"):
        (root / log).mkdir()
    for batch, mark in ((6, 5), (7, watermark)):
        metadata = {"batchWatermarkMs": mark, "batchTimestampMs": 1000 * batch, "conf": SETTINGS}
        text = "\n".join([version, json.dumps(metadata), *OFFSETS[version]])
        (root / f"offsets/{batch}").write_text(text)
        if batch == 6 or after is not None:
            (root / f"commits/{batch}").write_text(f'v1\n{{"nextBatchWatermarkMs":{after}}}')
    return Storage(str(root))


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_moved_watermark_makes_it_due_once(tmp_path: Path, version: str) -> None:
    checkpoint = _checkpoint(tmp_path, version=version)
    (tmp_path / "offsets/.8.crc").write_bytes(b"of an earlier file")
    moved = moved_watermark(checkpoint)
    assert moved is not None
    assert (moved.batch, moved.watermark_ms) == (7, 20)
    assert plan_batch_without_rows(checkpoint) == 8
    last, planned = (parse_planned_batch((tmp_path / f"offsets/{batch}").read_bytes()) for batch in (7, 8))
    assert (planned.version, planned.offsets, planned.settings) == (version, last.offsets, SETTINGS)
    assert planned.watermark_ms == 20
    assert not planned.repeats(last)
    assert sorted(file.name for file in (tmp_path / "offsets").iterdir()) == ["6", "7", "8"]
    assert moved_watermark(checkpoint) is None, "it is planned now"
    assert plan_batch_without_rows(checkpoint) is None


def test_a_batch_that_moves_the_watermark_repeats_none_although_the_clock_stands(tmp_path: Path) -> None:
    _checkpoint(tmp_path)
    last = parse_planned_batch((tmp_path / "offsets/7").read_bytes())
    assert last.repeats(last)
    assert not replace(last, watermark_ms=11).repeats(last)


def test_it_is_planned_after_the_last_batch_although_the_clock_was_set_back(tmp_path: Path) -> None:
    checkpoint = _checkpoint(tmp_path)
    file = tmp_path / "offsets/7"
    far = 10**14
    file.write_text(file.read_text().replace('"batchTimestampMs": 7000', f'"batchTimestampMs": {far}'))
    plan_batch_without_rows(checkpoint)
    assert parse_planned_batch((tmp_path / "offsets/8").read_bytes()).planned_ms == far + 1


@pytest.mark.parametrize(("watermark", "after"), [(10, 10), (10, 9), (10, None)])
def test_it_is_not_due(tmp_path: Path, watermark: int, after: int | None) -> None:
    """The watermark stayed, or the last batch is unfinished: Spark runs that one itself."""
    checkpoint = _checkpoint(tmp_path, watermark=watermark, after=after)
    assert moved_watermark(checkpoint) is None
    assert plan_batch_without_rows(checkpoint) is None
    assert not (tmp_path / "offsets/8").exists()


@pytest.mark.parametrize("damaged", ["offsets/7", "commits/7"])
def test_what_is_damaged_is_for_the_checks_of_a_run(tmp_path: Path, damaged: str) -> None:
    checkpoint = _checkpoint(tmp_path)
    (tmp_path / damaged).write_bytes(b"")
    assert moved_watermark(checkpoint) is None


def test_a_checkpoint_without_a_batch(tmp_path: Path) -> None:
    assert moved_watermark(Storage(str(tmp_path / "none"))) is None
