"""kill -9 in a batch that reads Kinesis: after the next run each record is there, once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli_runner import penstock, running
from tests.integration.kinesis_server import KinesisServer
from tests.oracle.tables import read_table, stored
from tests.processes import family, wait_until

_PIPELINE = """
import penstock as ps

@ps.table
def orders():
    return spark.readStream.format("kinesis").options(**{options}).load()
"""
_BATCH = 2


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_after_a_kill_in_a_batch_each_record_is_there_once(tmp_path: Path, kinesis: KinesisServer) -> None:
    kinesis.create("killed", shards=2)
    sent = kinesis.put("killed", [f"v{number}" for number in range(200)])
    options = kinesis.options("killed", maxRecordsPerFetch="20", fetchBufferSize="1")  # one answer of a shard a batch
    (tmp_path / "pipeline.py").write_text(_PIPELINE.format(options=options))
    (tmp_path / "penstock.yml").write_text("name: shop\nschema: shop\n")
    storage = tmp_path / ".penstock"
    with running("run", tmp_path) as command:
        command.jvm()
        processes = family(command.pid)
        planned = (storage / "checkpoints").rglob
        wait_until(lambda: any(planned(f"offsets/{_BATCH}")), timeout=300, what="a batch", interval=0.01)
        for process in processes:
            process.kill()
    (commits,) = storage.rglob("commits")
    assert not (commits / str(_BATCH)).exists()
    kinesis.split("killed", 0)
    sent += kinesis.put("killed", [f"w{number}" for number in range(20)])
    penstock("run", tmp_path).expect(0)
    rows = read_table(stored(storage, "shop", "orders"))
    assert sorted(row["sequenceNumber"] for row in rows) == sorted(sent)
