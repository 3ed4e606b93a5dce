"""Checkpoints that are made from others: backups, copies of one batch, and those with another number of partitions."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import ConfigError, StateError
from penstock.storage import Storage
from penstock.storage.checkpoint.backup import CheckpointToCopy, read_backup, write_backup
from penstock.storage.checkpoint.changes import Restoration, note_rewind, reset, restore
from penstock.storage.checkpoint.committed_files import BatchOfFiles, batches_of_files
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.logs import parse_planned_batch
from penstock.storage.checkpoint.one_batch import copy_before, copy_reads_of
from penstock.storage.checkpoint.partitions import begin_repartition, complete_repartition

QUERY_ID = "0b5d8a7e-2f3c-4a86-9d1e-5a6b7c8d9e0f"
PLACE = "checkpoints/shop/orders/main"
NOTE = f"{PLACE}/compared_with.json"


def _plan(step: int, *, planned_ms: int = 1_000, partitions: str = "4") -> str:
    metadata = {
        "batchWatermarkMs": 0,
        "batchTimestampMs": planned_ms,
        "conf": {"spark.sql.shuffle.partitions": partitions},
    }
    return f'v2\n{json.dumps(metadata)}\nfiles:{{"logOffset":{step}}}'


@pytest.fixture
def folder(tmp_path: Path) -> CheckpointFolder:
    """Generation 2 of a flow: batches 0 to 2, of which the last one is in flight."""
    place = tmp_path / "storage" / PLACE / "2"
    files = {
        "metadata": json.dumps({"id": QUERY_ID}),
        **{f"offsets/{batch}": _plan(batch) for batch in range(3)},
        **{f"commits/{batch}": 'v1\n{"nextBatchWatermarkMs":0}' for batch in range(2)},
        "sources/files/0": "v1\n{}",
        "state/0/0/1.changelog": "changes",
    }
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return CheckpointFolder.open(str(place))


def _storage(tmp_path: Path) -> Storage:
    return Storage(str(tmp_path / "storage"))


def _saved(tmp_path: Path, folder: CheckpointFolder) -> str:
    to = str(tmp_path / "backup")
    write_backup(to, _storage(tmp_path), [CheckpointToCopy("shop", "orders", "main", 2, folder)])
    return to


def _content(place: Path) -> dict[str, bytes]:
    return {str(file.relative_to(place)): file.read_bytes() for file in place.rglob("*") if file.is_file()}


def test_manifest_of_a_backup_says_what_was_copied(tmp_path: Path, folder: CheckpointFolder) -> None:
    _storage(tmp_path).write_text_atomic(NOTE, '{"version": 7}')
    folder.storage.write_text_atomic("penstock-restored.json", '{"batch": 0}')
    to = _saved(tmp_path, CheckpointFolder.open(folder.uri))
    backup = read_backup(to)
    [copied] = backup.checkpoints
    assert (backup.uri, backup.storage) == (to, str(tmp_path / "storage"))
    assert (copied.catalog, copied.schema, copied.name) == (None, "shop", "orders")
    assert (copied.flow, copied.generation, copied.query_id) == ("main", 2, QUERY_ID)
    assert (copied.planned, copied.committed, copied.inherited, copied.compared_with) == (2, 1, 0, '{"version": 7}')
    files = _content(Path(to) / PLACE / "2")
    assert files == _content(Path(folder.uri))
    assert {(file.name, file.size, file.sha256) for file in copied.files} == {
        (name, len(content), hashlib.sha256(content).hexdigest()) for name, content in files.items()
    }


def test_checkpoint_before_its_first_batch_is_copied_without_numbers(tmp_path: Path, folder: CheckpointFolder) -> None:
    for log in ("offsets", "commits"):
        folder.storage.delete(log)
    [copied] = read_backup(_saved(tmp_path, CheckpointFolder.open(folder.uri))).checkpoints
    assert (copied.planned, copied.committed, copied.inherited, copied.compared_with) == (None, None, None, None)


def test_backup_goes_into_an_empty_folder_outside_the_storage(tmp_path: Path, folder: CheckpointFolder) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    for to in ("taken", "storage/backup", "storage"):
        with pytest.raises(ConfigError) as caught:
            write_backup(str(tmp_path / to), _storage(tmp_path), [])
        assert caught.value.condition == "CHECKPOINT_BACKUP_PLACE_TAKEN"
        assert caught.value.facts == {"path": str(tmp_path / to)}
    assert write_backup(str(tmp_path / "storage2"), _storage(tmp_path), []).checkpoints == ()


@pytest.mark.parametrize("new_query", [True, False])
def test_restored_checkpoint_takes_its_place_and_the_other_is_kept(
    tmp_path: Path, folder: CheckpointFolder, *, new_query: bool
) -> None:
    _storage(tmp_path).write_text_atomic(NOTE, '{"version": 7}')
    before = _content(Path(folder.uri))
    backup = read_backup(_saved(tmp_path, folder))
    folder.storage.write_text_atomic("offsets/3", _plan(3))
    _storage(tmp_path).write_text_atomic(NOTE, '{"version": 8}')

    [kept] = restore(_storage(tmp_path), backup, (Restoration(backup.checkpoints[0], new_query),))

    after = _content(Path(folder.uri))
    restored = CheckpointFolder.open(folder.uri)
    assert kept is not None
    assert "offsets/3" in _content(Path(kept))
    assert _storage(tmp_path).read_text(NOTE) == '{"version": 7}'
    assert (restored.query_id() != QUERY_ID) is new_query
    assert restored.inherited_batch() == (1 if new_query else None)
    for name in ("metadata", "penstock-restored.json"):
        before.pop(name, None)
        after.pop(name, None)
    assert after == before


def test_backup_whose_file_has_changed_or_gone_restores_nothing(tmp_path: Path, folder: CheckpointFolder) -> None:
    backup = read_backup(_saved(tmp_path, folder))
    damaged = Path(backup.uri) / PLACE / "2/offsets/1"
    before = _content(Path(folder.uri))
    for damage, reason in (
        (lambda: damaged.write_text(_plan(1).replace("1}", "2}")), "does not fit its checksum in the manifest"),
        (damaged.unlink, "is missing"),
    ):
        damage()
        with pytest.raises(StateError) as caught:
            restore(_storage(tmp_path), backup, (Restoration(backup.checkpoints[0], new_query=False),))
        assert caught.value.condition == "CHECKPOINT_BACKUP_DAMAGED"
        assert caught.value.facts == {"file": str(damaged), "reason": reason}
    assert _content(Path(folder.uri)) == before


def _without(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda document: document["checkpoints_v1"][0].pop(key)


def _named(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda document: document["checkpoints_v1"][0]["files"][0].update(name=name)


@pytest.mark.parametrize(
    "change",
    [
        *(_without(key) for key in ("schema", "name", "flow", "generation", "planned", "compared_with", "files")),
        *(_named(name) for name in ("../x", "a/../../x", "/etc/passwd", "", "a\\..\\x")),
        lambda document: document.pop("created"),
        lambda document: document.pop("checkpoints_v1"),
        lambda document: document["checkpoints_v1"][0].update(generation="two"),
    ],
)
def test_manifest_of_another_form_is_damaged(
    tmp_path: Path, folder: CheckpointFolder, change: Callable[[dict[str, Any]], object]
) -> None:
    manifest = Path(_saved(tmp_path, folder)) / "manifest.json"
    document = json.loads(manifest.read_text())
    change(document)
    manifest.write_text(json.dumps(document))
    with pytest.raises(StateError) as caught:
        read_backup(str(tmp_path / "backup"))
    assert caught.value.condition == "CHECKPOINT_BACKUP_DAMAGED"
    assert caught.value.facts == {"file": str(manifest), "reason": "is no manifest of a backup"}


def test_folder_without_a_manifest_is_no_backup(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_backup(str(tmp_path))
    assert (caught.value.condition, caught.value.facts) == ("CHECKPOINT_BACKUP_NOT_FOUND", {"path": str(tmp_path)})


def test_reset_takes_the_generation_and_older_ones_away_and_keeps_them(
    tmp_path: Path, folder: CheckpointFolder
) -> None:
    flow = Path(folder.uri).parent
    for generation in ("0", "3"):
        (flow / generation).mkdir()
    kept = reset(_storage(tmp_path), CheckpointToCopy("shop", "orders", "", 2, folder), "main", 2)
    assert [Path(each).name.partition(".")[0] for each in kept] == ["0", "2"]
    assert sorted(each.name.partition(".")[0] for each in flow.iterdir()) == ["0", "2", "3"]
    assert (flow / "3").is_dir()
    assert not (flow / "2").exists()
    assert (Path(kept[1]) / "metadata").exists()


@pytest.mark.parametrize(("batch", "inherited"), [(2, 1), (1, 0), (0, None)])
def test_copy_of_a_batch_holds_the_ones_before_under_another_query_id(
    tmp_path: Path, folder: CheckpointFolder, batch: int, inherited: int | None
) -> None:
    for copy, state in ((copy_before, {"state/0/0/1.changelog"} if batch else set()), (copy_reads_of, set())):
        to = str(tmp_path / copy.__name__)
        copy(folder, batch, Storage(str(tmp_path)), to)
        copied = CheckpointFolder.open(to)
        assert (copied.inherited_batch(), copied.query_id() != QUERY_ID) == (inherited, True)
        assert {name for name in copied.files if name.startswith("state/")} == state


def test_committed_batches_of_files_come_oldest_first_with_their_times(folder: CheckpointFolder) -> None:
    place = Path(folder.uri)
    (place / "offsets/0").write_text(_plan(0, planned_ms=0))
    for batch in (0, 1):
        os.utime(place / f"commits/{batch}", (100.0 + batch, 100.0 + batch))
    assert batches_of_files(folder.uri, "files") == [BatchOfFiles(0, None, 100.0), BatchOfFiles(1, 1.0, 101.0)]
    assert batches_of_files(folder.uri, "other") == []


def test_repartitioned_copy_is_described_anew_and_older_partitions_go(tmp_path: Path, folder: CheckpointFolder) -> None:
    place = Path(folder.uri)
    (place / "offsets/2").unlink()
    described = place / "state/0/_metadata/metadata"
    described.parent.mkdir()
    stores = [{"storeName": "default", "numPartitions": 4}, {"storeName": "left", "numPartitions": 4}]
    described.write_text("v1\n" + json.dumps({"operatorInfo": {"operatorName": "dedupe"}, "stateStoreInfo": stores}))
    for partition in (1, 2, 3):
        (place / f"state/0/{partition}").mkdir()
        (place / f"state/0/{partition}/1.changelog").write_text("changes")
    note_rewind(folder, 0)

    staged = begin_repartition(_storage(tmp_path), CheckpointFolder.open(folder.uri), 4)
    files = Path(staged.uri)
    assert not (files / "penstock-rewind.json").exists()
    (files / "offsets/2").write_text(_plan(1, planned_ms=1_000, partitions="2"))  # as Spark leaves it

    assert complete_repartition(staged, 2) == 2
    assert sorted(each.name for each in (files / "state/0").iterdir() if each.name.isdecimal()) == ["0", "1"]
    version, _, text = (files / "state/0/_metadata/metadata").read_text().partition("\n")
    assert (version, [each["numPartitions"] for each in json.loads(text)["stateStoreInfo"]]) == ("v1", [2, 2])
    batch = parse_planned_batch((files / "offsets/2").read_bytes())
    assert batch.planned_ms > 1_000
    assert (batch.offsets, batch.settings) == ({"files": {"logOffset": 1}}, {"spark.sql.shuffle.partitions": "2"})
    copy = CheckpointFolder.open(staged.uri)
    assert (copy.inherited_batch(), copy.query_id() != QUERY_ID) == (2, True)
    assert folder.query_id() == QUERY_ID
