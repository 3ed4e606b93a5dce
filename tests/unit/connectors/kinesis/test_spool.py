"""The files of what was fetched: where they lie, and when they go."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.connectors.kinesis.records import arrow_batch
from penstock.connectors.kinesis.spool import Spool, SpoolFile, spooled

BATCH = arrow_batch([{"PartitionKey": "k", "Data": b"d", "SequenceNumber": "1"}], "s", "shard", (0, 2**128 - 1))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "blockmgr-1"
    folder.mkdir()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{folder},/elsewhere")
    return folder


def test_files_are_those_of_one_process_and_go_with_it(place: Path) -> None:
    spool = Spool()
    file = spool.new_file()
    file.add(BATCH)
    file.add(BATCH)
    file.close()
    (folder,) = place.iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    found = spooled(str(file.path))
    assert found is not None
    assert pa.Table.from_batches(found).num_rows == 2
    spool.close()
    assert list(place.iterdir()) == []
    assert spooled(str(file.path)) is None


def test_what_a_killed_process_has_left_is_deleted(place: Path) -> None:
    gone = place.parent / f"blockmgr-0/penstock-kinesis-{2**22 + 1}-x"
    living = place.parent / f"blockmgr-2/penstock-kinesis-{os.getpid()}-x"
    for folder in (gone, living):
        folder.mkdir(parents=True)
        (folder / "1.arrow").touch()
    Spool().close()
    assert (gone.exists(), living.exists()) == (False, True)


def test_a_disk_that_takes_nothing_leaves_the_file_out(place: Path) -> None:
    file = SpoolFile(place / "no/folder.arrow")
    file.add(BATCH)
    file.close()
    assert file.path is None
