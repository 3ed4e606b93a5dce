"""`penstock checkpoint repartition` is refused, before Spark starts, where it cannot be right."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.recorded.checkpoints import (
    HOURLY,
    copied_checkpoints,
    place,
    plan_batch,
    recorded_checkpoints,
    state_schema,
    write,
)
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.storage import StorageLayout
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.newest import check_newest
from penstock.storage.checkpoint.partitions import note_partitions, repartitions_state


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(recorded_checkpoints(tmp_path_factory.mktemp("recorded") / "storage").uri)


@pytest.fixture
def layout(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StorageLayout:
    (tmp_path / "penstock.yml").write_text("name: shop\nschema: shop\n")
    monkeypatch.chdir(tmp_path)
    return copied_checkpoints(recorded, tmp_path / ".penstock")


def refusal(*words: str, code: int = 3) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["checkpoint", *words, "--json"])
    assert done.exit_code == code, done.output
    [error] = json.loads(done.stdout)["errors"]
    return dict(error)


@pytest.mark.parametrize(
    ("flow", "partitions", "condition", "words"),
    [
        ("topic", 4, "CHECKPOINT_REPARTITION_NOT_POSSIBLE", "it keeps no state"),
        ("hourly", 0, "CHECKPOINT_REPARTITION_NOT_POSSIBLE", "at least one partition"),
        ("hourly", 2, "CHECKPOINT_REPARTITION_NOT_NEEDED", "nothing to do"),
    ],
)
def test_what_cannot_be_divided_is_refused(
    layout: StorageLayout, flow: str, partitions: int, condition: str, words: str
) -> None:
    error = refusal("repartition", flow, "--partitions", str(partitions), "--yes")
    assert error["condition"] == condition
    assert words in error["message"]


def test_state_that_spark_cannot_divide_is_named(layout: StorageLayout) -> None:
    """A limit; an aggregation without keys, which would count from 0 again; and state outside of RocksDB."""
    checkpoint = place(layout, HOURLY)
    described = (checkpoint / "state/0/_metadata/metadata").read_bytes()
    keys = (checkpoint / "state/0/0/_metadata/schema").read_bytes()
    planned = (checkpoint / "offsets/3").read_bytes()

    def refused() -> str:
        error = refusal("repartition", "hourly", "--partitions", "4", "--yes")
        assert error["condition"] == "CHECKPOINT_STATE_NOT_DIVISIBLE"
        assert error["fix"].endswith("penstock run --full-refresh shop.hourly")
        assert not list(checkpoint.parent.glob("*.restoring-*"))
        return str(error["message"])

    write(checkpoint, "state/0/_metadata/metadata", described.replace(b"stateStoreSave", b"someOther"))
    assert "the operator someOther" in refused()
    shutil.rmtree(checkpoint / "state/0/1")  # there is none without keys, although Spark notes two partitions
    write(checkpoint, "state/0/_metadata/metadata", described.replace(b"stateStoreSave", b"globalLimit"))
    assert "the operator globalLimit has no keys" in refused()
    write(checkpoint, "state/0/_metadata/metadata", described)
    assert refusal("repartition", "hourly", "--partitions", "4", "--yes")["condition"] == "CHECKPOINT_FILE_MISSING"
    write(checkpoint, "state/0/0/_metadata/schema", state_schema(key=[], value=["count"]))
    assert "the operator stateStoreSave has no keys" in refused()
    write(checkpoint, "state/0/0/_metadata/schema", keys)
    shutil.copytree(checkpoint / "state/0/0", checkpoint / "state/0/1")
    write(checkpoint, "offsets/3", planned.replace(b"RocksDBStateStore", b"HDFSBackedStateStore"))
    assert "kept by HDFSBackedStateStoreProvider" in refused()
    write(checkpoint, "offsets/3", planned)
    write(checkpoint, "commits/3", (checkpoint / "commits/3").read_bytes().replace(b"v1", b"v2"))
    assert "checkpointFormatVersion is 2" in refused()


def test_other_flows_damage_and_doubt_are_refused(layout: StorageLayout) -> None:
    assert refusal("repartition", "hurly", "--partitions", "4", code=2)["condition"] == "CHECKPOINT_NOT_FOUND"
    asked = refusal("repartition", "hourly", "--partitions", "4", code=2)
    assert asked["condition"] == "CHECKPOINT_CHANGE_NOT_CONFIRMED"
    assert "2 partitions and gets 4 partitions" in asked["message"]
    plan_batch(place(layout, HOURLY), 4, {"raw_delta": {"reservoirVersion": 9, "index": -1}})
    pending = refusal("repartition", "hourly", "--partitions", "4", "--yes")
    assert pending["condition"] == "CHECKPOINT_BATCH_IN_FLIGHT"
    assert pending["fix"].endswith("penstock run --refresh shop.hourly")
    write(place(layout, HOURLY), "offsets/3", b"")
    damaged = refusal("repartition", "hourly", "--partitions", "4", "--yes")
    assert damaged["condition"] == "CHECKPOINT_FILE_DAMAGED"


def test_the_batch_that_divided_the_state_is_not_done_again(layout: StorageLayout) -> None:
    """Spark would start no query on it, so it is not taken for a batch in flight."""
    folder = CheckpointFolder.open(str(place(layout, HOURLY)))
    plan_batch(place(layout, HOURLY), 4, dict(folder.planned_batch(3).offsets))
    note_partitions(folder.storage, 4, 5)
    folder = CheckpointFolder.open(folder.uri)
    assert repartitions_state(folder.planned_batch(4), folder.planned_batch(3))
    found = check_newest(folder, newest_batch=lambda: 3)
    assert [each.condition for each in found.findings] == ["CHECKPOINT_FILE_MISSING"]
    assert found.repairs == []
    error = refusal("repartition", "hourly", "--partitions", "4", "--yes")
    assert (error["condition"], error["message"].endswith("commits/4.")) == ("CHECKPOINT_FILE_MISSING", True)
    write(place(layout, HOURLY), "commits/4", b"v1\n{")
    found = check_newest(CheckpointFolder.open(folder.uri), newest_batch=lambda: 3)
    assert ([each.condition for each in found.findings], found.repairs) == (["CHECKPOINT_FILE_MISSING"], [])
