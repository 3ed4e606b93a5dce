"""Checkpoints judged without Spark: none that is sound is blamed, no damage passes."""

from __future__ import annotations

import json
import random
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.recorded.checkpoints import (
    BATCHES,
    HOURLY,
    RAW,
    TOPIC,
    commit_batch,
    copied_checkpoints,
    place,
    plan_batch,
    query_id,
    report,
    write,
    write_rows,
)

from penstock.care.checkpoints.description import describe
from penstock.care.checkpoints.inventory import Inventory
from penstock.care.checkpoints.verify import verify
from penstock.errors import PenstockError
from penstock.events import EventLog, EventType, builders
from penstock.events.log.reader import read_events
from penstock.graph.identifier import DefaultSchema
from penstock.plan.state import GENERATION
from penstock.storage import StorageLayout
from penstock.storage.checkpoint import snapshots


@pytest.fixture
def layout(recorded: Path, tmp_path: Path) -> StorageLayout:
    return copied_checkpoints(recorded, tmp_path / "storage")


def look(layout: StorageLayout) -> Inventory:
    return Inventory(layout.uri, read_events(layout.uri))


def findings(layout: StorageLayout) -> list[PenstockError]:
    inventory = look(layout)
    return list(verify(inventory, inventory.checkpoints, inventory.records).findings)


def conditions(layout: StorageLayout) -> list[str]:
    return [finding.condition for finding in findings(layout)]


# --- damage -----------------------------------------------------------------

KINDS = {
    "query id": (RAW, "metadata"),
    "newest offsets": (TOPIC, "offsets/3"),
    "older offsets": (TOPIC, "offsets/1"),
    "older commit": (TOPIC, "commits/1"),
    "newest step": (RAW, "sources/cloudFiles_orders/11"),
    "compacted steps": (RAW, "sources/cloudFiles_orders/9.compact"),
    "first offsets": (TOPIC, "sources/kafka_orders/0"),
    "operator": (HOURLY, "state/0/_metadata/metadata"),
    "schema": (HOURLY, "state/0/0/_metadata/schema"),
    "newest state": (HOURLY, "state/0/1/4.changelog"),
    "older state": (HOURLY, "state/0/0/2.changelog"),
}
DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "torn": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "missing": lambda path: path.unlink(),
    "garbage": lambda path: path.write_bytes(bytes(range(200, 250)) * (path.stat().st_size // 50 + 1)),
    "bit flip": lambda path: path.write_bytes(_flipped(path.read_bytes())),
}


def _flipped(content: bytes) -> bytes:
    middle = len(content) * 2 // 3
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def test_a_sound_storage_has_no_findings(layout: StorageLayout) -> None:
    assert findings(layout) == []


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_no_damage_is_silent(layout: StorageLayout, kind: str, damage: str) -> None:
    dataset, name = KINDS[kind]
    path = place(layout, dataset) / name
    DAMAGES[damage](path)
    found = findings(layout)
    allowed = {"CHECKPOINT_FILE_MISSING", "CHECKPOINT_BATCH_MISSING"}
    allowed |= {"CHECKPOINT_COMMIT_WITHOUT_OFFSETS", "CHECKPOINT_BEHIND_TARGET"}
    if damage != "missing":
        allowed = {"CHECKPOINT_FILE_DAMAGED"}
    assert found
    assert {finding.condition for finding in found} <= allowed
    assert {finding.dataset for finding in found} == {str(dataset)}
    assert str(dataset) in found[0].fix
    if damage != "missing":
        assert [finding.facts["file"] for finding in found] == [str(path)]
    inventory = look(layout)
    for checkpoint in inventory.checkpoints:
        assert json.dumps(describe(inventory, checkpoint)), "what is damaged is still described"


@pytest.mark.parametrize("damage", ["empty", "torn", "missing", "garbage"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if "state" not in kind])
def test_without_checksums_as_on_an_object_store(layout: StorageLayout, kind: str, damage: str) -> None:
    dataset, name = KINDS[kind]
    for checksum in place(layout, dataset).rglob(".*.crc"):
        checksum.unlink()
    assert findings(layout) == []
    DAMAGES[damage](place(layout, dataset) / name)
    assert findings(layout)


def test_a_snapshot_of_state_is_a_whole_archive(layout: StorageLayout, tmp_path: Path) -> None:
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "snapshot/metadata").write_text("{}")
    archive = Path(shutil.make_archive(str(tmp_path / "4"), "zip", tmp_path / "snapshot"))
    checkpoint = place(layout, HOURLY)
    shutil.copy(archive, checkpoint / "state/0/0/4.zip")
    (checkpoint / "state/0/0/2.changelog").unlink()
    assert findings(layout) == [], "what came before a snapshot is not needed"
    (checkpoint / "state/0/0/4.zip").write_bytes(archive.read_bytes()[:-30])
    assert conditions(layout) == ["CHECKPOINT_FILE_DAMAGED"]


SNAPSHOTS = ("zip", "an emptied zip", "a torn part", "a part that is gone")


def _snapshot(layout: StorageLayout, version: int, part: str = "000008-a.sst") -> tuple[Path, Path]:
    """Writes a snapshot as RocksDB's of Spark; returns the archive, and the part beside it."""
    checkpoint = place(layout, HOURLY)
    sst = checkpoint / "state/0/0/SSTs" / part
    write(checkpoint, f"state/0/0/SSTs/{part}", b"rows of RocksDB")
    archive = checkpoint / f"state/0/0/{version}.zip"
    told = {"sstFiles": [{"localFileName": "8.sst", "dfsSstFileName": part, "sizeBytes": sst.stat().st_size}]}
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("metadata", f"v1\n{json.dumps(told)}")
    return archive, sst


def _damage_snapshot(damage: str, archive: Path, part: Path) -> Path:
    match damage:
        case "an emptied zip":
            archive.write_bytes(b"")
        case "a torn part":
            part.write_bytes(part.read_bytes()[:7])
            part.with_name(f".{part.name}.crc").unlink()  # nothing but its size tells
        case "a part that is gone":
            part.unlink()
    return archive if "zip" in damage else part


@pytest.mark.parametrize("damage", SNAPSHOTS)
def test_a_damaged_snapshot_is_no_finding_where_spark_replays_the_changes(layout: StorageLayout, damage: str) -> None:
    _snapshot(layout, 2)
    _damage_snapshot(damage, *_snapshot(layout, 4, "000009-b.sst"))
    assert findings(layout) == [], "from the snapshot of version 2"
    for file in ("2.zip", "1.changelog"):
        (place(layout, HOURLY) / "state/0/0" / file).unlink()
    assert (findings(layout) == []) == (damage == "zip"), "nothing leads to version 2 any more"


@pytest.mark.parametrize("damage", SNAPSHOTS[1:])
def test_a_damaged_snapshot_is_a_finding_where_nothing_leads_around_it(layout: StorageLayout, damage: str) -> None:
    _snapshot(layout, 2)
    archive, part = _snapshot(layout, 4, "000009-b.sst")
    damaged = _damage_snapshot(damage, archive, part)
    changes = place(layout, HOURLY) / "state/0/0/3.changelog"
    changes.write_bytes(changes.read_bytes()[:7])
    found = [(finding.condition, finding.facts["file"]) for finding in findings(layout)]
    name = "CHECKPOINT_FILE_MISSING" if "gone" in damage else "CHECKPOINT_FILE_DAMAGED"
    assert sorted(found) == sorted([("CHECKPOINT_FILE_DAMAGED", str(changes)), (name, str(damaged))])
    changes.unlink()
    assert (name, str(damaged)) in [(finding.condition, finding.facts["file"]) for finding in findings(layout)]


def test_a_damaged_part_of_two_snapshots_is_one_finding(layout: StorageLayout) -> None:
    (place(layout, HOURLY) / "state/0/0/1.changelog").unlink()
    for version in (2, 4):
        _, part = _snapshot(layout, version)
    part.write_bytes(b"ROWS of RocksDB")
    assert conditions(layout) == ["CHECKPOINT_FILE_DAMAGED"]


def test_changes_beyond_what_spark_replays_do_not_replace_a_snapshot(
    layout: StorageLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "MOST_CHANGES_REPLAYED", 3)
    _damage_snapshot("an emptied zip", *_snapshot(layout, 3))
    assert conditions(layout) == ["CHECKPOINT_FILE_DAMAGED"], "four changes from an empty state to version 4"
    _snapshot(layout, 1, "000009-b.sst")
    assert findings(layout) == []


@pytest.mark.parametrize("bit", [(28, 0), (29, 1), (284, 0), (290, 6), (292, 0), (294, 2), (351, 0)])
def test_a_changed_bit_of_an_archive_is_damage(layout: StorageLayout, bit: tuple[int, int]) -> None:
    """Each of these makes `zipfile` raise an exception of another class."""
    archive = place(layout, HOURLY) / "state/0/0/4.zip"
    (archive.parent / "3.changelog").unlink()  # so that it is needed
    with zipfile.ZipFile(archive, "w") as written:
        content = bytes(random.Random(1).choices(range(64), k=300))
        written.writestr(zipfile.ZipInfo("1.sst"), content, zipfile.ZIP_DEFLATED)
    assert findings(layout) == []
    changed = bytearray(archive.read_bytes())
    changed[bit[0]] ^= 1 << bit[1]
    archive.write_bytes(changed)
    assert conditions(layout) == ["CHECKPOINT_FILE_DAMAGED"]


def test_files_of_another_spark_are_named_as_that(layout: StorageLayout) -> None:
    checkpoint = place(layout, TOPIC)
    write(checkpoint, "offsets/3", (checkpoint / "offsets/3").read_bytes().replace(b"v2", b"v7", 1))
    [finding] = findings(layout)
    assert (finding.condition, finding.facts["version"]) == ("CHECKPOINT_VERSION_UNKNOWN", "v7")


def test_a_commit_without_its_plan(layout: StorageLayout) -> None:
    (place(layout, TOPIC) / "offsets/3").unlink()
    found = findings(layout)
    assert [finding.condition for finding in found] == [
        "CHECKPOINT_COMMIT_WITHOUT_OFFSETS",
        "CHECKPOINT_BEHIND_TARGET",
    ]
    assert found[0].facts["batches"] == "3"


def test_old_batches_that_spark_tidied_away_are_no_gap(layout: StorageLayout) -> None:
    checkpoint = place(layout, RAW)
    for batch in range(7):
        (checkpoint / f"offsets/{batch}").unlink()
        (checkpoint / f"commits/{batch}").unlink()
    assert findings(layout) == []


# --- the checkpoint and its table -------------------------------------------


def test_a_batch_in_flight_is_normal_before_and_after_its_rows_are_stored(layout: StorageLayout) -> None:
    plan_batch(place(layout, TOPIC), 4, {"kafka_orders": {"orders": {"0": 60, "1": 50}}})
    assert findings(layout) == []
    write_rows(layout, TOPIC, query_id(layout, TOPIC), 4)
    assert findings(layout) == []
    [checkpoint] = look(layout).select("topic", default_schema="shop")
    assert (checkpoint.folder.committed, checkpoint.folder.in_flight) == (3, 4)


def test_an_older_checkpoint_under_a_newer_table(layout: StorageLayout) -> None:
    for batch in (2, 3):
        (place(layout, TOPIC) / f"offsets/{batch}").unlink()
        (place(layout, TOPIC) / f"commits/{batch}").unlink()
    [finding] = findings(layout)
    assert finding.condition == "CHECKPOINT_BEHIND_TARGET"
    assert (finding.facts["stored"], finding.facts["planned"]) == ("3", "1")


def test_an_older_table_under_a_newer_checkpoint(layout: StorageLayout) -> None:
    for batch in (4, 5):
        plan_batch(place(layout, TOPIC), batch, {"kafka_orders": {"orders": {"0": 70 + batch}}})
        commit_batch(place(layout, TOPIC), batch)
    [finding] = findings(layout)
    assert finding.condition == "CHECKPOINT_AHEAD_OF_TARGET"
    assert (finding.facts["stored"], finding.facts["committed"]) == ("3", "5")
    report(layout, TOPIC, 4, rows=0)
    report(layout, TOPIC, 5, rows=0)
    assert findings(layout) == [], "Delta may leave out batches without rows"
    report(layout, TOPIC, 5, rows=3)
    assert conditions(layout) == ["CHECKPOINT_AHEAD_OF_TARGET"]


def test_a_copied_checkpoint(layout: StorageLayout) -> None:
    copy = Path(layout.checkpoint(TOPIC, "other", 0))
    shutil.copytree(place(layout, TOPIC), copy)
    found = [finding for finding in findings(layout) if finding.condition == "CHECKPOINT_SHARED"]
    assert {finding.facts["path"] for finding in found} == {str(copy), str(place(layout, TOPIC))}


def test_a_lost_checkpoint(layout: StorageLayout) -> None:
    shutil.rmtree(place(layout, RAW).parent)
    [finding] = findings(layout)
    assert (finding.condition, finding.facts["path"]) == ("CHECKPOINT_LOST", str(place(layout, RAW)))


def test_a_note_that_was_written_before_the_query_began_is_no_checkpoint(layout: StorageLayout) -> None:
    noted = Path(layout.checkpoint(TOPIC, "new", 0), "penstock.json")
    noted.parent.mkdir(parents=True)
    noted.write_text("{}")
    assert findings(layout) == []
    shutil.rmtree(place(layout, RAW))
    place(layout, RAW).mkdir()
    (place(layout, RAW) / "penstock.json").write_text("{}")
    assert conditions(layout) == ["CHECKPOINT_LOST"]


def test_what_began_anew_has_lost_nothing(layout: StorageLayout) -> None:
    shutil.rmtree(place(layout, RAW).parent)
    with EventLog.open(layout.uri, pipeline_name="shop", update_id="reset") as log:
        log.append(EventType.USER_ACTION, *builders.user_action("RESET_CHECKPOINT"), dataset="shop.raw", flow="raw")
    assert findings(layout) == []


def test_a_table_that_is_gone_needs_no_checkpoint(layout: StorageLayout) -> None:
    for part in (layout.table(RAW), layout.checkpoints(RAW, "raw")):
        shutil.rmtree(part)
    assert findings(layout) == []


def test_a_table_that_cannot_be_read_is_a_finding(layout: StorageLayout) -> None:
    for commit in Path(layout.table(RAW), "_delta_log").glob("*.json"):
        commit.write_text("{")
    assert conditions(layout) == ["TABLE_NOT_READABLE"]


# --- which there are --------------------------------------------------------


def test_generations_and_undeclared_flows_are_told_apart(layout: StorageLayout) -> None:
    shutil.copytree(place(layout, RAW), Path(layout.checkpoint(RAW, "raw", 1)))
    write(Path(layout.checkpoint(RAW, "raw", 1)), "metadata", b'{"id":"00000000-0000-0000-0000-000000000001"}')
    shutil.copytree(place(layout, TOPIC), Path(layout.checkpoint(TOPIC, "old flow", 0)))
    DeltaTable(layout.table(RAW)).alter.set_table_properties({GENERATION: "1"}, raise_if_not_exists=False)
    found = {(each.name, each.generation): (each.in_use, each.declared) for each in look(layout).checkpoints}
    assert found == {
        ("shop.raw", 0): (False, True),
        ("shop.raw", 1): (True, True),
        ("shop.topic", 0): (True, True),
        ("shop.topic/old flow", 0): (True, False),
        ("shop.hourly", 0): (True, True),
    }


@pytest.mark.parametrize("name", ["raw", "RAW", "shop.raw", "shop.raw/raw", "raw/Raw", "main.shop.raw"])
def test_a_flow_is_found_by_all_its_names(layout: StorageLayout, name: str) -> None:
    [found] = look(layout).select(name, default_schema=DefaultSchema("shop", "main"))
    assert found.name == "shop.raw"


@pytest.mark.parametrize("name", ["rav", "shop.rav", "other.shop.raw", "raw/topic", "", "a.b.c.d"])
def test_a_flow_that_is_not_there(layout: StorageLayout, name: str) -> None:
    with pytest.raises(PenstockError) as raised:
        look(layout).select(name, default_schema="shop")
    assert raised.value.condition == "CHECKPOINT_NOT_FOUND"


def test_a_storage_that_was_moved_uses_its_own_tables(layout: StorageLayout, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(layout.uri, moved)
    write_deltalake(layout.table(TOPIC), pa.table({"id": [9]}), mode="append")
    target = look(StorageLayout(str(moved))).target(TOPIC)
    assert target is not None
    assert (target.uri, target.version) == (StorageLayout(str(moved)).table(TOPIC), 1)


# --- what they say ----------------------------------------------------------


def test_what_a_checkpoint_says(layout: StorageLayout) -> None:
    inventory = look(layout)
    told = {each.name: describe(inventory, each) for each in inventory.checkpoints}
    raw, topic, hourly = (told[f"shop.{name}"] for name in ("raw", "topic", "hourly"))
    assert [batch["offsets"] for batch in raw["batches"]] == [
        {"cloudFiles_orders": {"logOffset": step, "files": 1}} for step in range(7, 12)
    ]
    assert raw["sources"] == {"cloudFiles_orders": "cloudFiles /data"}
    assert (raw["watermark"], raw["state"]) == (None, None)
    assert topic["batches"][-1]["offsets"] == {"kafka_orders": {"orders": {"0": 40, "1": 37}}}
    assert topic["batches"][-1]["committed"]
    assert topic["query_id"] == query_id(layout, TOPIC)
    assert hourly["watermark"] == "2026-11-21T12:26:43.000000Z"
    assert hourly["state"]["provider"].endswith("RocksDBStateStoreProvider")
    assert hourly["state"]["operators"] == [
        {"operator": 0, "name": "stateStoreSave", "stores": [{"name": "default", "partitions": 2}]}
    ]
    for dataset, name in ((RAW, "raw"), (TOPIC, "topic"), (HOURLY, "hourly")):
        target = told[f"shop.{name}"]["target"]
        assert target["last_batch"] == BATCHES[dataset] - 1
        assert target["version_of_last_batch"] == 0
