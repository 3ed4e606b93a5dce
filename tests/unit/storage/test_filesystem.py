from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from fsspec.implementations.local import LocalFileSystem

from penstock.errors import ConfigError, ExternalError
from penstock.storage import Storage
from penstock.storage.local_disk import LocalDisk


def test_a_file_is_written_read_listed_and_deleted(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    storage.write_text_atomic("a/b.json", "ä")
    assert storage.read_text("a/b.json") == "ä"
    assert storage.read_text(f"{tmp_path}/a/b.json") == "ä"
    storage.write_text_atomic("a/c.txt", "1\n2\n")
    assert storage.read_bytes("a/c.txt", start=2, limit=1) == b"2"
    assert storage.read_bytes("a/c.txt", start=99) == b""
    assert [(entry.name, entry.size, entry.is_directory) for entry in storage.list("a")] == [
        ("b.json", 2, False),
        ("c.txt", 4, False),
    ]
    assert storage.list("a")[0].uri == f"{tmp_path}/a/b.json"
    storage.delete("a")
    storage.delete("a")
    assert not storage.exists("a")
    assert storage.list("a") == []


def test_replacing_a_file_leaves_nothing_else_behind(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    for text in ("one", "two"):
        storage.write_text_atomic("f", text)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert storage.read_text("f") == "two"


@pytest.mark.parametrize("prefix", ["", "file://", "file:"])
def test_local_uris_are_the_same_place(tmp_path: Path, prefix: str) -> None:
    folder = tmp_path / "with space"
    storage = Storage(f"{prefix}{folder}")
    storage.write_text_atomic("x", "1")
    assert storage.is_local
    assert (folder / "x").read_text() == "1"
    assert storage.list()[0].name == "x"
    with storage.exclusive():
        assert storage.exists("x")


def test_a_relative_uri_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Storage(".penstock/").uri == f"{tmp_path}/.penstock"


def test_the_local_disk_answers_as_that_of_fsspec(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/one").write_text("1")
    (tmp_path / "a/two").write_text("22")
    for link, to in (("a/file", "two"), ("a/folder", "b"), ("a/nothing", "away")):
        (tmp_path / link).symlink_to(to)
    own, other, known = LocalDisk(), LocalFileSystem(), ("name", "size", "type", "mtime")
    for path in ("", "a", "a/two", "a/file", "a/folder"):
        uri = f"file://{tmp_path}/{path}".rstrip("/")
        assert own.info(uri) == {key: other.info(uri)[key] for key in known}
        assert sorted(entry["name"] for entry in own.ls(uri)) == sorted(other.ls(uri))
        assert own.ls(uri) == [{key: entry[key] for key in known} for entry in other.ls(uri, detail=True)]
        assert set(own.find(uri)) == set(other.find(uri))
        assert (own.exists(uri), own.isdir(uri)) == (True, other.isdir(uri))
    assert own.exists(f"{tmp_path}/a/nothing") is other.exists(f"{tmp_path}/a/nothing") is False
    assert own.find(f"{tmp_path}/no") == other.find(f"{tmp_path}/no", detail=True) == {}


def test_memory_is_a_storage_too() -> None:
    storage = Storage("memory://filesystem-test")
    storage.write_text_atomic("a/b", "1")
    storage.write_text_atomic("a/b", "12")
    with storage.create("a/c") as file:
        file.write(b"3")
    assert [entry.name for entry in storage.list("a")] == ["b", "c"]
    assert storage.read_text("a/b") == "12"
    with pytest.raises(FileExistsError):
        storage.create("a/c")
    storage.delete("")


def test_creating_a_file_twice_is_refused(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    storage.create("a/x").close()
    with pytest.raises(FileExistsError):
        storage.create("a/x")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Storage(str(tmp_path)).read_text("no")


@pytest.mark.parametrize("action", ["makedirs", "create", "write_text_atomic"])
def test_a_path_that_cannot_be_written(tmp_path: Path, action: str) -> None:
    (tmp_path / "file").write_text("not a folder")
    storage = Storage(f"{tmp_path}/file/storage")
    location = f"{storage.uri}/x"
    arguments = [location, "text"] if action == "write_text_atomic" else [location]
    with pytest.raises(ConfigError) as caught:
        getattr(storage, action)(*arguments)
    assert caught.value.condition == "STORAGE_NOT_WRITABLE"
    assert caught.value.facts["path"] == location
    assert caught.value.facts["reason"]
    assert caught.value.exit_code == 2


def test_a_folder_read_as_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        Storage(str(tmp_path)).read_text("")
    assert caught.value.condition == "STORAGE_NOT_READABLE"
    assert caught.value.facts["path"] == str(tmp_path)


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE])
def test_a_disk_that_does_not_answer_is_no_path_to_correct(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def away(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    storage = Storage(str(tmp_path))
    storage.write_text_atomic("f", "1")
    monkeypatch.setattr(os, "replace", away)
    monkeypatch.setattr(LocalDisk, "open", away)
    for action in (lambda: storage.write_text_atomic("f", "2"), lambda: storage.read_bytes("f")):
        with pytest.raises(ExternalError) as caught:
            action()
        assert (caught.value.condition, caught.value.retryable) == ("STORAGE_FAILED", True)
        assert caught.value.facts["detail"] == f"{tmp_path}/f: {os.strerror(number)}"


def test_a_scheme_that_nobody_knows() -> None:
    with pytest.raises(ConfigError) as caught:
        Storage("gopher://x/y")
    assert caught.value.condition == "STORAGE_SCHEME_UNSUPPORTED"
    assert caught.value.facts == {"uri": "gopher://x/y", "scheme": "gopher"}


@pytest.mark.parametrize("place", ["disk", "memory"])
def test_walk_finds_files_at_any_depth_by_their_path(place: str, tmp_path: Path) -> None:
    storage = Storage(str(tmp_path) if place == "disk" else "memory://walk/here")
    assert storage.walk("nothing") == []
    for name in ("a/1", "a/b/c/2", "a/.hidden"):
        storage.write_text_atomic(name, "xy")
    found = {file.name: (file.size, file.is_directory) for file in storage.walk("a")}
    assert found == {"1": (2, False), "b/c/2": (2, False), ".hidden": (2, False)}
    assert [storage.read_text(file.uri) for file in storage.walk("a")] == ["xy"] * 3
    assert all(file.modified for file in storage.walk("a"))
