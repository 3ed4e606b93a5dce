"""The storage's seam on an S3 on loopback: what of it works without Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.s3_server import S3Server

from penstock.errors import ConfigError
from penstock.spark.sources.auto_loader.files.cleaning import clean_source
from penstock.spark.sources.auto_loader.options.clean_source import CleanMode, CleanSource
from penstock.storage import Storage
from penstock.storage.object_stores.s3 import use_s3_settings


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as server:
        use_s3_settings(server.settings)
        yield server
    use_s3_settings(dict)


def test_files_are_listed_found_read_moved_and_deleted(s3: S3Server) -> None:
    storage = Storage(s3.bucket("seam"))
    s3.put("seam", "in/2026-01-01/a b?#%41.json", [{"id": 1}])
    s3.put("seam", "in/b.json", [{"id": 2}])
    name = "in/2026-01-01/a b?#%41.json"
    assert [(file.name, file.is_directory) for file in storage.list("in")] == [("2026-01-01", True), ("b.json", False)]
    assert [file.name for file in storage.walk("in")] == [name.removeprefix("in/"), "b.json"]
    assert storage.read_bytes(name) == b'{"id": 1}\n'
    assert storage.read_bytes(name, start=2, limit=2) == b"id"
    found = storage.find(name)
    assert found is not None
    assert found.modified is not None
    assert abs(found.modified - s3.client.head_object(Bucket="seam", Key=name)["LastModified"].timestamp()) < 1
    storage.move_file(name, "done/a")
    storage.makedirs("empty/folder")
    storage.write_text_atomic("noted/one", "1")
    emptied = "in/2026-01-01/"  # a marker, as Hadoop's client leaves it, too
    assert s3.keys("seam") == ["done/a", emptied, "in/b.json", "noted/one"]
    storage.delete("in/b.json")
    storage.delete("nothing")
    assert not storage.exists("in/b.json")
    assert storage.list("nowhere") == []
    with pytest.raises(FileNotFoundError):
        storage.read_bytes("nowhere")


def test_a_refused_key_is_told(s3: S3Server) -> None:
    storage = Storage(s3.bucket("refused"))
    with s3.checking_credentials(), pytest.raises(ConfigError) as caught:
        storage.list("in")
    assert caught.value.condition == "OBJECT_STORE_ACCESS_DENIED"
    assert "INVALID_ACCESS_KEY_ID" in str(caught.value.facts["detail"])


@pytest.mark.parametrize("mode", list(CleanMode))
def test_files_that_were_read_leave_the_source(s3: S3Server, tmp_path: Path, mode: CleanMode) -> None:
    bucket = f"clean-{mode.value.casefold()}"
    base = f"{s3.bucket(bucket)}/in"
    for name in ("day=1/a b.json", "changed.json", "unread.json"):
        s3.put(bucket, f"in/{name}", [{"name": name}])
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
    destination = f"s3a://{bucket}/done" if mode is CleanMode.MOVE else None
    cleaned = clean_source(
        CleanSource(mode, base, 0, destination),
        checkpoint=checkpoint.uri,
        source="orders",
        notes_location=str(tmp_path / "notes"),
        stopped=lambda: False,
    )
    assert (cleaned.files, cleaned.failure) == (1, None)
    assert cleaned.changed == (f"{base}/changed.json",)
    kept = {key for key in s3.keys(bucket) if not key.endswith("/")}
    moved = {"done/day=1/a b.json"} if mode is CleanMode.MOVE else set()
    assert kept == {"in/changed.json", "in/unread.json"} | moved
