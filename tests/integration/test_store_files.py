"""The storage's seam on object stores on loopback: what of it works without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.store_server import QUICK_SERVERS, StoreServer, store_server, used_by_this_process

from penstock.errors import ConfigError
from penstock.spark.sources.auto_loader.files.cleaning import clean_source
from penstock.spark.sources.auto_loader.options.clean_source import CleanMode, CleanSource
from penstock.storage import Storage
from penstock.storage.stores.settings import use_store_settings


@pytest.fixture(scope="module", params=QUICK_SERVERS)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreServer]:
    with store_server(request.param, tmp_path_factory.mktemp("store")) as server, used_by_this_process(server):
        yield server


def test_files_are_listed_found_read_moved_and_deleted(store: StoreServer) -> None:
    storage = Storage(store.bucket("seam"))
    store.put("seam", "in/2026-01-01/a b?#%41.json", [{"id": 1}])
    store.put("seam", "in/b.json", [{"id": 2}])
    name = "in/2026-01-01/a b?#%41.json"
    assert [(file.name, file.is_directory) for file in storage.list("in")] == [("2026-01-01", True), ("b.json", False)]
    assert [file.name for file in storage.walk("in")] == [name.removeprefix("in/"), "b.json"]
    assert storage.read_bytes(name) == b'{"id": 1}\n'
    assert storage.read_bytes(name, start=2, limit=2) == b"id"
    assert [storage.read_bytes(name, start=start) for start in (9, 10, 1000)] == [b"\n", b"", b""]
    found = storage.find(name)
    assert found is not None
    assert found.modified is not None
    assert abs(found.modified - store.modified("seam", name)) < 1
    storage.move_file(name, "done/a")
    storage.makedirs("empty/folder")
    storage.write_text_atomic("noted/one", "1")
    kept = [key for key in store.keys("seam") if not key.endswith("/")]  # S3's client leaves a marker of the folder
    assert kept == ["done/a", "in/b.json", "noted/one"]
    with storage.open("done/a") as file:
        file.seek(2)
        assert (file.read(2), file.read()) == (b"id", b'": 1}\n')
    storage.delete("in/b.json")
    storage.delete("nothing")
    assert not storage.exists("in/b.json")
    assert storage.list("nowhere") == []
    with pytest.raises(FileNotFoundError):
        storage.read_bytes("nowhere")


def test_a_folder_is_moved_and_deleted_with_all_that_it_holds(store: StoreServer) -> None:
    storage = Storage(store.bucket("moved") + "/storage")
    for name in ("a/1", "a/b/2", "ab/3"):
        storage.write_text_atomic(name, name)
    storage.move("a", "c/d")
    assert [file.name for file in storage.walk()] == ["ab/3", "c/d/1", "c/d/b/2"]
    assert (storage.exists("a"), storage.exists("c"), storage.read_text("c/d/b/2")) == (False, True, "a/b/2")
    with storage.create("c/new") as file:
        file.write(b"4")
    with pytest.raises(FileExistsError):
        storage.create("c/new")
    storage.delete("c")
    assert [file.name for file in storage.walk()] == ["ab/3"]


def test_what_is_refused_is_told(store: StoreServer) -> None:
    storage = Storage(store.bucket("refused"))
    with store.refusing() as settings:
        use_store_settings(lambda: settings)
        try:
            refused = Storage(storage.uri)
            for look in (refused.list, refused.exists, refused.walk):
                with pytest.raises(ConfigError) as caught:
                    look("in")
                assert caught.value.condition == "OBJECT_STORE_ACCESS_DENIED"
                assert storage.uri in str(caught.value.facts["detail"])
        finally:
            use_store_settings(store.settings)
    with pytest.raises(ConfigError) as caught:
        Storage(store.missing).list("in")
    assert caught.value.condition == "OBJECT_STORE_BUCKET_NOT_FOUND"


@pytest.mark.parametrize("mode", list(CleanMode))
def test_files_that_were_read_leave_the_source(store: StoreServer, tmp_path: Path, mode: CleanMode) -> None:
    bucket = f"clean-{mode.value.casefold()}"
    base = f"{store.bucket(bucket)}/in"
    for name in ("day=1/a b.json", "changed.json", "unread.json"):
        store.put(bucket, f"in/{name}", [{"name": name}])
    listed = {file.name: round((file.modified or 0) * 1000) for file in Storage(base).walk()}
    entries = [
        {"path": f"{base}/day=1/a%20b.json", "timestamp": listed["day=1/a b.json"], "batchId": 0},
        {"path": f"{base}/changed.json", "timestamp": listed["changed.json"] - 5000, "batchId": 0},
    ]
    metadata = {"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": {}}
    checkpoint = Storage(str(tmp_path / "checkpoint"))
    checkpoint.write_text_atomic("metadata", '{"id":"5c5d3a2e-0c5c-4d8e-9a3f-3f1f2b1c7d10"}')
    checkpoint.write_text_atomic("sources/orders/0", "\n".join(["v1", *map(json.dumps, entries)]))
    checkpoint.write_text_atomic("offsets/0", f'v2\n{json.dumps(metadata)}\norders:{{"logOffset":0}}')
    checkpoint.write_text_atomic("commits/0", 'v1\n{"nextBatchWatermarkMs":0}')
    destination = base.removesuffix("/in") + "/done" if mode is CleanMode.MOVE else None
    cleaned = clean_source(
        CleanSource(mode, base, 0, destination),
        checkpoint=checkpoint.uri,
        source="orders",
        notes_location=str(tmp_path / "notes"),
        stopped=lambda: False,
    )
    assert (cleaned.files, cleaned.failure) == (1, None)
    assert cleaned.changed == (f"{base}/changed.json",)
    kept = {key for key in store.keys(bucket) if not key.endswith("/")}
    moved = {"done/day=1/a b.json"} if mode is CleanMode.MOVE else set()
    assert kept == {"in/changed.json", "in/unread.json"} | moved
