"""The record of reads in each store: readers of several machines make one chain, which the store keeps in order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.integration.store_server import EACH_STORE, store_server, used_by_this_process

from penstock.events.log import action_chain
from penstock.events.log.reads import ReadAudit, newest_read, recorded_reads
from penstock.storage import Storage


@pytest.mark.parametrize("kind", EACH_STORE)
def test_readers_at_the_same_moment_make_one_chain(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(action_chain, "_OBJECT_BYTES", 3000)
    with store_server(kind, tmp_path) as server, used_by_this_process(server):
        storage = server.bucket("read") + "/storage"
        audit = ReadAudit(storage, "orders", required=True)
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda number: audit.record([f"shop.t{number}"], number, {}), range(16)))
        chain = list(recorded_reads(storage))
        newest = newest_read(Storage(storage))
        segments = [key for key in server.keys("read") if "/reads/" in key]
    assert found == [None] * 16
    assert [each.tampering for each in chain] == [None] * 16
    assert newest == chain[-1].hash
    assert len(segments) > 1
