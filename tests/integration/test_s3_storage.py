"""The storage's seam on an S3 on loopback: what of it works without Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.integration.s3_server import S3Server

from penstock.errors import ConfigError
from penstock.storage import Storage
from penstock.storage.s3 import use_s3_settings


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3")) as server:
        use_s3_settings(server.settings())
        yield server
    use_s3_settings({})


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
    assert caught.value.condition == "STORAGE_NOT_READABLE"
    assert "INVALID_ACCESS_KEY_ID" in str(caught.value.facts["reason"])
