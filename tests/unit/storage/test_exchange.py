"""One checkpoint takes another's place: whatever step the process dies at, the next holder of the lock completes it."""

from __future__ import annotations

import io
import itertools
import json
import os
import uuid
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import StateError
from penstock.storage import Storage, StorageLock
from penstock.storage.checkpoint.backup import CheckpointToCopy, write_backup
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.exchange import exchange, finish_exchange

FLOW = "checkpoints/shop/orders/orders"
OLD = {"metadata": "old", "offsets/0": "old", "offsets/1": "old", "commits/0": "old"}
NEW = {"metadata": "new", "offsets/0": "new", "state/0/0/1.changelog": "new"}


class Died(BaseException):
    """The process was killed."""


class Mortal:
    """Lets so many writing calls through, and dies at the next: before it is made, or after."""

    def __init__(self, calls: int, *, after: bool) -> None:
        self.left, self.after = calls, after

    def wrap(self, function: Any) -> Any:
        def called(*arguments: Any, **named: Any) -> Any:
            if self.left == 0 and not self.after:
                raise Died
            answer = function(*arguments, **named)
            if self.left == 0:
                raise Died
            self.left -= 1
            return answer

        return called


def storage_at(place: str, tmp_path: Path) -> Storage:
    storage = Storage(str(tmp_path) if place == "disk" else f"memory://{uuid.uuid4().hex}")
    for folder, content in ((f"{FLOW}/0", OLD), (f"{FLOW}/0.restoring-x", NEW)):
        for name, text in content.items():
            storage.write_text_atomic(f"{folder}/{name}", text)
    return storage


def content(storage: Storage, folder: str) -> dict[str, str]:
    return {file.name: storage.read_text(file.uri) for file in storage.walk(folder)}


def begin(storage: Storage) -> None:
    places = (f"{storage.uri}/{FLOW}/0{end}" for end in ("", ".before-x", ".restoring-x"))
    place, previous, staged = places
    exchange(storage, place, previous=previous, staged=staged)


def die_at(step: int, storage: Storage, *, after: bool, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the process died; on the disk a step is one call of the system, elsewhere one file."""
    mortal = Mortal(step, after=after)
    with monkeypatch.context() as patch:
        if storage.is_local:
            for name in ("rename", "replace", "unlink"):
                patch.setattr(os, name, mortal.wrap(getattr(os, name)))
            patch.setattr(storage._fs, "rm", mortal.wrap(storage._fs.rm))
        else:
            for name in ("cp_file", "rm_file", "pipe_file"):
                patch.setattr(storage._fs, name, mortal.wrap(getattr(storage._fs, name)))
        try:
            begin(storage)
        except Died:
            return True
    return False


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("place", ["disk", "memory"])
def test_a_process_may_die_at_any_step(
    place: str, after: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in itertools.count():
        storage = storage_at(place, tmp_path / str(step))
        if not die_at(step, storage, after=after, monkeypatch=monkeypatch):
            break
        noted = storage.exists("checkpoints/unfinished.json")
        if not noted:
            assert content(storage, f"{FLOW}/0") in (OLD, NEW), "without a note the place is whole"
        again = Storage(storage.uri)
        begun = finish_exchange(again)
        assert begun is noted
        if noted or content(storage, f"{FLOW}/0") == NEW:
            assert content(storage, f"{FLOW}/0") == NEW
            assert content(storage, f"{FLOW}/0.before-x") == OLD
            assert content(storage, f"{FLOW}/0.restoring-x") == {}
        assert finish_exchange(again) is False
    assert step >= (4 if place == "disk" else 10), "the steps were seen"


def test_the_next_holder_of_the_lock_completes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = storage_at("disk", tmp_path)
    assert die_at(1, storage, after=True, monkeypatch=monkeypatch)
    assert content(storage, f"{FLOW}/0") == {}, "the old one is away, the new one not there"
    with StorageLock(storage):
        assert content(storage, f"{FLOW}/0") == NEW


def test_a_note_that_cannot_be_read_stops_everybody(tmp_path: Path) -> None:
    storage = storage_at("disk", tmp_path)
    (tmp_path / "checkpoints/unfinished.json").write_text("{")
    with pytest.raises(StateError) as raised, StorageLock(storage):
        pass
    assert raised.value.condition == "CHECKPOINT_NOTE_DAMAGED"
    (tmp_path / "checkpoints/unfinished.json").unlink()
    with StorageLock(storage):
        pass


def test_a_moved_storage_completes_it_in_its_own_folders(tmp_path: Path) -> None:
    storage = storage_at("disk", tmp_path / "first")
    note = {"place": f"{FLOW}/0", "aside": f"{FLOW}/0.before-x", "staged": f"{FLOW}/0.restoring-x", "away": False}
    storage.write_text_atomic("checkpoints/unfinished.json", json.dumps(note))
    (tmp_path / "first").rename(tmp_path / "second")
    moved = Storage(str(tmp_path / "second"))
    assert finish_exchange(moved)
    assert content(moved, f"{FLOW}/0") == NEW
    assert not (tmp_path / "first").exists()


class Full(io.RawIOBase):
    """A disk that takes three bytes at a time."""

    def __init__(self) -> None:
        self.content = b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.content += bytes(data[:3])
        return min(3, len(data))


def test_a_part_that_the_disk_took_is_not_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = storage_at("disk", tmp_path / "storage")
    storage.write_text_atomic(f"{FLOW}/0/metadata", '{"id":"96a3f4f5-813f-40b8-91e1-36371d677791"}')
    folder = CheckpointFolder.open(f"{storage.uri}/{FLOW}/0")
    taken: dict[str, Full] = {}
    monkeypatch.setattr(Storage, "create", lambda _, location: taken.setdefault(location, Full()))
    write_backup(str(tmp_path / "copy"), storage, [CheckpointToCopy("shop", "orders", "orders", 0, folder)])
    assert {name.rpartition("/")[2]: file.content for name, file in taken.items()} == {
        name.rpartition("/")[2]: folder.read(name) for name in folder.files
    }
