"""`penstock checkpoint rebuild`: what is made again says the same as what was lost. No Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from tests.recorded.checkpoints import RAW, TOPIC, copied_checkpoints, recorded_checkpoints, write_rows
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.events import BatchProgress, CheckpointedBatch, EventLog, EventType, builders
from penstock.graph.identifier import Identifier
from penstock.storage import StorageLayout, StorageLock
from penstock.storage.checkpoint.folder import CheckpointFolder

runner = CliRunner()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log tells up to where each batch has read, as it does since it is written for that."""
    layout = recorded_checkpoints(tmp_path_factory.mktemp("recorded") / "storage")
    for dataset in (TOPIC, RAW):
        folder = CheckpointFolder.open(str(place(layout, dataset)))
        for batch in folder.numbers("commits"):
            planned = folder.planned_batch(batch)
            settings = planned.settings if batch == 0 else {}
            tell(layout, dataset, batch, planned.offsets, folder.query_id(), settings=settings)
    return Path(layout.uri)


@pytest.fixture
def layout(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StorageLayout:
    (tmp_path / "penstock.yml").write_text("name: shop\nschema: shop\n")
    monkeypatch.chdir(tmp_path)
    return copied_checkpoints(recorded, tmp_path / ".penstock")


def place(layout: StorageLayout, dataset: Identifier) -> Path:
    return Path(layout.checkpoint(dataset, dataset.name, 0))


def tell(
    layout: StorageLayout,
    dataset: Identifier,
    batch: int,
    offsets: Any,
    query_id: str,
    *,
    rows: int = 1,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> None:
    numbers = BatchProgress(batch_id=batch, num_input_rows=rows, num_output_rows=rows)
    said = builders.flow_batch(dataset.name, numbers, checkpointed=CheckpointedBatch(query_id, offsets, dict(settings)))
    with EventLog.open(layout.uri, pipeline_name="shop", update_id="later") as log:
        log.append(EventType.FLOW_PROGRESS, *said, dataset=str(dataset), flow=dataset.name, batch_id=batch)


def define(layout: StorageLayout, flow: str, **definition: Any) -> None:
    with EventLog.open(layout.uri, pipeline_name="shop", update_id="later") as log:
        told = builders.flow_definition(flow, output_dataset="shop.topic", flow_type="append", **definition)
        log.append(EventType.FLOW_DEFINITION, *told, dataset="shop.topic", flow=flow)


def answer(*words: str, code: int = 0) -> Any:
    done = runner.invoke(app, ["checkpoint", *words, "--json"])
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def reason(*words: str) -> str:
    [error] = answer("rebuild", *words, "--yes", code=3)["errors"]
    assert error["condition"] == "CHECKPOINT_REBUILD_NOT_POSSIBLE"
    return str(error["message"])


def test_what_is_made_again_says_the_same(layout: StorageLayout) -> None:
    kept = Path(layout.uri, "kept")
    shutil.move(place(layout, TOPIC), kept)
    [finding] = answer("verify", code=3)["findings"]
    assert (finding["condition"], "penstock checkpoint rebuild shop.topic" in finding["fix"]) == (
        "CHECKPOINT_LOST",
        True,
    )
    done = answer("rebuild", "topic", "--yes")
    assert (done["last_batch"], done["path"]) == (3, str(place(layout, TOPIC)))
    was, now = CheckpointFolder.open(str(kept)), CheckpointFolder.open(str(place(layout, TOPIC)))
    for name in ("metadata", "commits/2", "commits/3"):
        assert json.loads(now.read(name).split(b"\n")[-1]) == json.loads(was.read(name).split(b"\n")[-1])
    for batch in (2, 3):
        assert now.planned_batch(batch).offsets == was.planned_batch(batch).offsets
        assert now.planned_batch(batch).settings == was.planned_batch(batch).settings
        assert now.read(f"offsets/{batch}").splitlines()[2:] == was.read(f"offsets/{batch}").splitlines()[2:]
    assert set(now.files) == {
        *("metadata", "commits/2", "commits/3", "offsets/2", "offsets/3", "sources/kafka_orders/0")
    }
    assert answer("verify")["findings"] == []
    assert "its checkpoint is there" in reason("topic")


def test_a_batch_that_was_not_logged(layout: StorageLayout) -> None:
    query_id = CheckpointFolder.open(str(place(layout, TOPIC))).query_id()
    shutil.rmtree(place(layout, TOPIC))
    write_rows(layout, TOPIC, query_id, 4)
    assert "holds batch 4" in reason("topic"), "the process died between the table's commit and the event"
    tell(layout, TOPIC, 5, {}, query_id)
    assert "the offsets that batch 4 has read" in reason("topic")
    tell(layout, TOPIC, 6, {}, query_id)
    assert "lacks rows" in reason("topic")
    tell(layout, TOPIC, 5, {"kafka_orders": None}, query_id, rows=0)
    tell(layout, TOPIC, 6, {"kafka_orders": None}, query_id, rows=0)
    assert answer("rebuild", "topic", "--yes")["last_batch"] == 6, "batches without rows are not in the table"


def test_what_only_the_checkpoint_knew(layout: StorageLayout) -> None:
    shutil.rmtree(layout.checkpoints(RAW, "raw"))
    shutil.rmtree(layout.checkpoints(TOPIC, "topic"))
    assert "reads files" in reason("raw")
    define(layout, "topic", stateful=["deduplicate"])
    assert "keeps state" in reason("topic")
    define(layout, "topic", watermark=("at", "1 hour"))
    assert "keeps state or a watermark" in reason("topic")
    shutil.rmtree(layout.table(TOPIC))
    assert "no table" in reason("topic")
    define(layout, "other")
    assert "no table" in reason("shop.topic/other")


def test_a_log_of_an_older_version(recorded: Path, layout: StorageLayout) -> None:
    shutil.rmtree(layout.checkpoints(TOPIC, "topic"))
    for segment in Path(layout.events).iterdir():
        segment.write_text(segment.read_text().replace('checkpoint\\"', 'nothing\\"'))
    assert "older versions" in reason("topic")


def test_a_run_and_a_terminal(layout: StorageLayout) -> None:
    shutil.rmtree(layout.checkpoints(TOPIC, "topic"))
    [error] = answer("rebuild", "topic", code=2)["errors"]
    assert error["condition"] == "CHECKPOINT_CHANGE_NOT_CONFIRMED"
    with StorageLock(layout.uri):
        assert answer("rebuild", "topic", "--yes", code=3)["errors"][0]["condition"] == "STORAGE_LOCKED"
    assert answer("rebuild", "nothing", "--yes", code=2)["errors"][0]["condition"] == "CHECKPOINT_NOT_FOUND"
