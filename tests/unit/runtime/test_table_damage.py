"""A table whose log was damaged: a run refuses it, `verify` names it, or nothing has changed. Never other rows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.recorded.checkpoints import (
    BATCHES,
    HOURLY,
    RAW,
    commit_batch,
    copied_checkpoints,
    place,
    plan_batch,
    query_id,
    recorded_checkpoints,
    report,
    write,
    write_rows,
)
from tests.unit.plan.conftest import Pipeline

from penstock.care.checkpoints.inventory import Inventory
from penstock.care.checkpoints.verify import verify
from penstock.errors import PenstockError, StateError
from penstock.events import read_events
from penstock.runtime.storage_state.state import snapshot
from penstock.storage import StorageLayout

_NEWEST = 5
FILES = {
    "newest commit": f"{_NEWEST:020d}.json",
    "older commit": f"{_NEWEST - 1:020d}.json",
    "checkpoint": f"{2:020d}.checkpoint.parquet",
    "hint at the checkpoint": "_last_checkpoint",
    "version checksum": f"{_NEWEST:020d}.crc",
    "older version checksum": f"{_NEWEST - 1:020d}.crc",
}
DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "torn": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "cut between lines": lambda path: path.write_bytes(path.read_bytes().rpartition(b'\n{"add"')[0] + b"\n"),
    "missing": lambda path: path.unlink(),
    "bit flip": lambda path: path.write_bytes(_flipped(path.read_bytes())),
    "duplicate": lambda path: shutil.copy(path, path.with_name(_next(path.name))),
    "another": lambda path: path.write_bytes(_older(path).read_bytes()),
}


def _flipped(content: bytes) -> bytes:
    middle = len(content) * 2 // 3
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def _older(path: Path) -> Path:
    """The file before, of the same size; for one that has no number, any other."""
    if not path.name[:20].isdecimal():
        return path.with_name(f"{_NEWEST:020d}.crc")
    older = path.with_name(f"{int(path.name[:20]) - 1:020d}{path.name[20:]}")
    return older if older.exists() else path.with_name(f"{_NEWEST:020d}.json")


def _next(name: str) -> str:
    return f"{int(name[:20]) + 1:020d}{name[20:]}" if name[:20].isdecimal() else f"{name}.copy"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three more batches after a checkpoint of the table, with the checksums that Spark and Hadoop put beside them."""
    layout = recorded_checkpoints(tmp_path_factory.mktemp("recorded") / "storage")
    query, log = query_id(layout, RAW), Path(layout.table(RAW)) / "_delta_log"
    for batch in range(BATCHES[RAW], BATCHES[RAW] + _NEWEST - 1):
        write_rows(layout, RAW, query, batch)
        step = json.dumps({"path": f"file:///data/{batch}.json", "timestamp": 0, "batchId": batch})
        write(place(layout, RAW), f"sources/cloudFiles_orders/{batch}", f"v1\n{step}".encode())
        plan_batch(place(layout, RAW), batch, {"cloudFiles_orders": {"logOffset": batch}})
        commit_batch(place(layout, RAW), batch)
        report(layout, RAW, batch, 1)
        table = DeltaTable(layout.table(RAW))
        write(log, f"{table.version():020d}.crc", json.dumps(checksum_of(table)).encode())
        if table.version() == 2:
            table.create_checkpoint()
    for file in log.iterdir():
        if not file.name.startswith(".") and not file.name.endswith(".crc"):
            write(log, file.name, file.read_bytes())
    return Path(layout.uri)


def checksum_of(table: DeltaTable) -> dict[str, Any]:
    """What Spark notes beside a commit, as far as it matters here."""
    names = [uri.rpartition("/")[2] for uri in table.file_uris()]
    commit = table.history(1)[0]
    return {"txnId": commit.get("txnId"), "numFiles": len(names), "allFiles": [{"path": name} for name in names]}


@pytest.fixture
def layout(recorded: Path, tmp_path: Path) -> StorageLayout:
    return copied_checkpoints(recorded, tmp_path / "storage")


def refused(layout: StorageLayout) -> list[str]:
    """What a run says before it writes anything."""
    graph = Pipeline().stream("raw").stream("topic").stream("hourly", "raw*").graph
    try:
        state = snapshot(graph, layout, {each: layout.table(each) for each in graph.tables}, pipeline="shop")
    except StateError as error:
        return [error.condition]
    return [error.condition for check in state.checks.values() for error in check.refusals]


def found(layout: StorageLayout) -> list[PenstockError]:
    """What `penstock checkpoint verify` finds."""
    inventory = Inventory(layout.uri, read_events(layout.uri))
    return list(verify(inventory, inventory.checkpoints, inventory.records).findings)


def content(layout: StorageLayout) -> Any:
    table = DeltaTable(layout.table(RAW))
    rows = sorted(str(each) for each in table.to_pyarrow_table()["id"].to_pylist())
    return rows, table.transaction_version(query_id(layout, RAW)), table.metadata().id, table.schema()


def test_a_sound_table_is_not_blamed(layout: StorageLayout) -> None:
    assert (refused(layout), found(layout)) == ([], [])
    (Path(layout.table(RAW)) / "_delta_log" / FILES["version checksum"]).unlink()  # Delta writes it after the commit
    assert (refused(layout), found(layout)) == ([], [])


@pytest.mark.parametrize("kind", FILES)
def test_no_damage_is_silent(layout: StorageLayout, kind: str) -> None:
    before, log = content(layout), Path(layout.table(RAW)) / "_delta_log"
    shutil.copytree(log, sound := log.with_name("sound"))
    for damage, do in DAMAGES.items():
        do(log / FILES[kind])
        by_run, by_verify = set(refused(layout)), {error.condition for error in found(layout)}
        assert by_run | by_verify <= {"TABLE_NOT_READABLE", "TABLE_LOG_DAMAGED", "CHECKPOINT_AHEAD_OF_TARGET"}
        assert by_run or by_verify or content(layout) == before, damage
        if kind in {"newest commit", "older commit", "checkpoint"} and damage in {
            "empty",
            "torn",
            "missing",
            "another",
        }:
            assert by_run, damage  # even where Hadoop keeps no checksums
        shutil.rmtree(log)
        shutil.copytree(sound, log)


def test_a_damaged_table_that_nobody_declares_any_more_keeps_nobody_from_running(layout: StorageLayout) -> None:
    (Path(layout.table(HOURLY)) / f"_delta_log/{1:020d}.json").write_text("{")
    graph = Pipeline().stream("raw").stream("topic").graph
    snapshot(graph, layout, {each: layout.table(each) for each in graph.tables}, pipeline="shop")
    assert refused(layout) == ["TABLE_NOT_READABLE"]
