"""The benchmark of Kafka: latencies from a table's log."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
from benchmarks.kafka.readable import Readable, rows_of
from pyarrow import parquet


def test_a_row_can_be_read_when_its_commit_is_there(tmp_path: Path) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    for version, (ids, at) in enumerate([((), 90.0), ((1, 0), 101.0), ((2,), 105.0)]):
        actions: list[dict[str, object]] = [{"commitInfo": {}}]
        if ids:
            file = f"{version}.parquet"
            parquet.write_table(pa.table({"id": list(ids), "sent": [100_000] * len(ids)}), tmp_path / file)
            actions.append({"add": {"path": file, "stats": json.dumps({"numRecords": len(ids)})}})
        commit = log / f"{version:020d}.json"
        commit.write_text("\n".join(map(json.dumps, actions)))
        os.utime(commit, (at, at))
    found = Readable.of(tmp_path)
    assert (found.commits, rows_of(tmp_path)) == (2, 3)
    assert found.has_each(3)
    assert not found.has_each(4)
    assert (found.percentile(50, from_id=0), found.percentile(100, from_id=0)) == (1.0, 5.0)
    assert found.percentile(50, from_id=2) == 5.0
