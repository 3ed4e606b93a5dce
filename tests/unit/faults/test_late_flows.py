"""The oracle of late rows: batches as a checkpoint tells them, and where each row must be, by rows counted by hand."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from tests.faults.late_flows import Batch, Fates, LateFlows, Row, file_rows, recorded_batches

_BATCHES = [
    Batch(0, ("orders-0.json", "payments-0.json"), late_behind=0, closes=0),
    Batch(1, (), late_behind=0, closes=1000),
    Batch(2, ("orders-1.json",), late_behind=1000, closes=1200),
]
_FILES = {
    "orders-0.json": [Row(0, 0, 0, 1600), Row(2, 2, 1, 700)],
    "payments-0.json": [Row(1, 1, 0, 1700), Row(3, 3, 1, 1301), Row(5, 1, 0, 1700)],
    "orders-1.json": [Row(4, 4, 0, 1000), Row(6, 0, 0, 1600), Row(8, 8, 2, 899)],
}


def _fates(flow: str) -> Fates:
    return Fates(flow, _BATCHES, _FILES.__getitem__)


def test_a_row_at_the_watermark_is_late_and_one_in_an_open_window_is_not() -> None:
    windows = _fates("windows")
    assert list(windows.late) == [(8, "orders-1.json", 2, 899, 1000, 100)]
    assert windows.written == Counter([(900, 1, 2, 4), (1200, 1, 4, 16)])
    assert windows.counts["rows_in_open_windows"] == 5
    assert {row[0] for row in _fates("paid").late} == {4, 8}


def test_each_id_and_each_pair_is_there_as_often_as_its_rows_in_time_make_it() -> None:
    assert _fates("first_copies").written == Counter([(0,), (1,), (2,), (3,)])
    assert _fates("paid").written == Counter([(0, 1), (0, 5), (6, 1), (6, 5)]), "601 seconds are too long"


def test_batches_are_those_of_the_checkpoint_also_behind_a_compacted_log(tmp_path: Path) -> None:
    for folder in ("offsets", "sources/files"):
        (tmp_path / folder).mkdir(parents=True)
    for batch, (end, watermark) in enumerate([(0, 0), (0, 5000), (2, 7000)]):
        metadata = json.dumps({"batchWatermarkMs": watermark})
        (tmp_path / f"offsets/{batch}").write_text(f'v2\n{metadata}\nfiles:{{"logOffset":{end}}}')
    steps = [json.dumps({"path": f"file:///in/{step}.json", "timestamp": 1, "batchId": step}) for step in range(4)]
    (tmp_path / "sources/files/0").write_text(f"v1\n{steps[0]}")
    (tmp_path / "sources/files/.0.crc").write_bytes(b"\0")
    (tmp_path / "sources/files/2.compact").write_text("\n".join(["v1", *steps[:3]]))
    (tmp_path / "sources/files/3").write_text(f"v1\n{steps[3]}")
    assert recorded_batches(tmp_path) == [
        Batch(0, ("0.json",), 0, 0),
        Batch(1, (), 0, 5),
        Batch(2, ("1.json", "2.json"), 5, 7),
    ]


def test_the_input_has_all_rows_once_and_some_of_them_late_or_repeated(tmp_path: Path) -> None:
    project = LateFlows(tmp_path / "late", rows=2001, pairs=2)
    project.arrive(2)
    names = sorted(path.name for path in (project.directory / "in").iterdir())
    rows = [row for name in names for row in project.file(name)]
    assert names == ["orders-0000.json", "orders-0001.json", "payments-0000.json", "payments-0001.json"]
    assert sorted(row.n for row in rows) == list(range(2004))
    assert len({row.id for row in rows}) < 2004 - 20
    newest = max(row.at for row in file_rows("orders", 0, 501))
    assert any(row.at < newest - 1200 for row in rows)
