"""The record of reads in each store: readers of several machines make one chain, which the store keeps in order."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.integration.store_server import EACH_STORE, store_server, used_by_this_process

from penstock.events.flows.facts import details_of
from penstock.events.log import action_chain
from penstock.events.log.audit import RecordedAction
from penstock.events.log.reads import ReadAudit, newest_read, recorded_reads
from penstock.storage import Storage
from penstock.storage.stores.store import StoredObject
from penstock.storage.stores.stores import store_of

PutOver = Callable[[StoredObject, bytes, str], str]


@pytest.mark.parametrize("kind", EACH_STORE)
def test_readers_at_the_same_moment_make_one_chain(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(action_chain, "_OBJECT_BYTES", 3000)
    with store_server(kind, tmp_path) as server, used_by_this_process(server):
        storage = server.bucket("read") + "/storage"
        audit = ReadAudit(storage, "orders", required=True)
        with ThreadPoolExecutor(20) as pool:
            list(pool.map(lambda number: audit.record([f"shop.t{number}"], number, {}), range(20)))
        monkeypatch.setattr(action_chain, "_group", lambda _: action_chain._Group())  # as on machines of their own
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda number: audit.record([f"shop.t{number}"], number, {}), range(20, 32)))
        store = store_of(storage)
        assert store is not None
        stored_kind = type(store.stored_object(storage))
        monkeypatch.setattr(stored_kind, "put_over", answered_twice(stored_kind.put_over))
        audit.record(["shop.t32"], 32, {})
        chain = list(recorded_reads(storage))
        newest = newest_read(Storage(storage))
        segments = [key for key in server.keys("read") if "/reads/" in key]
    assert sorted(rows_of(each) for each in chain) == list(range(33))
    assert [each.tampering for each in chain] == [None] * 33
    assert newest == chain[-1].hash
    assert len(segments) > 1


def rows_of(action: RecordedAction) -> int:
    assert action.event is not None
    return int(details_of(action.event)["arguments"]["rows"])


def answered_twice(put_over: PutOver) -> PutOver:
    """Writes twice, as a client does that got no answer."""

    def twice(stored: StoredObject, content: bytes, version: str) -> str:
        put_over(stored, content, version)
        return put_over(stored, content, version)

    return twice
