"""`penstock checkpoint rewind`: table and checkpoint go back together, or nothing changes. No Spark."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.recorded.checkpoints import (
    HOURLY,
    RAW,
    TOPIC,
    copied_checkpoints,
    plan_batch,
    recorded_checkpoints,
    write,
    write_rows,
)
from typer.testing import CliRunner

from penstock.care.checkpoints.target import Target
from penstock.cli.main import app
from penstock.errors import StateError
from penstock.events import BatchProgress, EventLog, EventType, builders, read_events
from penstock.events.flows.records import FlowRecords
from penstock.graph.companions.late_rows import late_rows_of
from penstock.graph.companions.quarantine import quarantine_of
from penstock.graph.identifier import Identifier
from penstock.storage import StorageLayout, StorageLock
from penstock.storage.checkpoint.folder import CheckpointFolder

runner = CliRunner()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As recorded, but with a commit of the table for each of the last two batches of the topic and the hours."""
    layout = recorded_checkpoints(tmp_path_factory.mktemp("recorded") / "storage")
    for dataset in (TOPIC, HOURLY):
        shutil.rmtree(layout.table(dataset))
        for batch in range(4):
            write_rows(layout, dataset, query_id(layout, dataset), batch)
    return Path(layout.uri)


@pytest.fixture
def layout(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StorageLayout:
    (tmp_path / "penstock.yml").write_text("name: shop\nschema: shop\n")
    monkeypatch.chdir(tmp_path)
    return copied_checkpoints(recorded, tmp_path / ".penstock")


def place(layout: StorageLayout, dataset: Identifier) -> Path:
    return Path(layout.checkpoint(dataset, dataset.name, 0))


def query_id(layout: StorageLayout, dataset: Identifier) -> str:
    return str(json.loads((place(layout, dataset) / "metadata").read_text())["id"])


def ids(layout: StorageLayout, dataset: Identifier) -> list[int]:
    return sorted(row["id"] for row in DeltaTable(layout.table(dataset)).to_pyarrow_table().to_pylist())


def answer(*words: str, code: int = 0) -> Any:
    done = runner.invoke(app, ["checkpoint", *words, "--json"])
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def refusal(*words: str, code: int = 3) -> dict[str, Any]:
    [error] = answer(*words, code=code)["errors"]
    return dict(error)


def content(layout: StorageLayout) -> dict[str, bytes]:
    root = Path(layout.uri)
    return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}


def test_a_table_and_its_checkpoint_go_back_together(layout: StorageLayout) -> None:
    before, old = DeltaTable(layout.table(TOPIC)).version(), query_id(layout, TOPIC)
    done = answer("rewind", "topic", "--to-batch", "1", "--yes")
    assert (done["last_batch"], done["again"], done["dataset"]) == (1, [2, 3], "shop.topic")
    assert ids(layout, TOPIC) == [0, 1]
    assert DeltaTable(layout.table(TOPIC)).version() == before + 1, "what was there can still be read"
    folder = CheckpointFolder.open(str(place(layout, TOPIC)))
    assert (folder.planned, folder.committed, folder.inherited_batch()) == (1, 1, 1)
    assert query_id(layout, TOPIC) != old, "under the old one the table would drop the batches that come"
    assert CheckpointFolder.open(done["kept"]).planned == 3
    assert answer("verify")["findings"] == []
    [action] = [event for event in read_events(layout.uri) if event.event_type is EventType.USER_ACTION]
    assert action.details["user_action"]["arguments"] == {"to_batch": 1}
    assert set(FlowRecords(read_events(layout.uri)).of(TOPIC, "topic").written) == {0, 1}

    # Again, from where it is now: batch 2 came under the new id, and the table went on by another one.
    plan_batch(place(layout, TOPIC), 2, {"kafka_orders": {"orders": {"0": 30, "1": 27}}})
    write(place(layout, TOPIC), "commits/2", b'v1\n{"nextBatchWatermarkMs":0}')
    write_rows(layout, TOPIC, query_id(layout, TOPIC), 2)
    answer("rewind", "topic", "--to-batch", "1", "--yes")
    assert ids(layout, TOPIC) == [0, 1]
    assert "another query id" in refusal("rewind", "topic", "--to-batch", "0", "--yes")["message"]


def test_state_of_later_batches_goes_as_well(layout: StorageLayout) -> None:
    answer("rewind", "hourly", "--to-batch", "2", "--yes")
    assert ids(layout, HOURLY) == [0, 1, 2]
    state = place(layout, HOURLY) / "state/0/0"
    assert sorted(file.name for file in state.glob("*.changelog")) == ["1.changelog", "2.changelog", "3.changelog"]
    assert answer("verify")["findings"] == []


@pytest.mark.parametrize("beside", [quarantine_of, late_rows_of])
def test_quarantine_and_late_rows_go_back_with_their_table(
    layout: StorageLayout, beside: Callable[[Identifier], Identifier]
) -> None:
    aside = beside(TOPIC)
    for batch in (1, 2):
        write_rows(layout, aside, f"{query_id(layout, TOPIC)}/{aside}", batch)
    answer("rewind", "topic", "--to-batch", "1", "--yes")
    assert (ids(layout, TOPIC), ids(layout, aside)) == ([0, 1], [1])


def test_batches_without_rows_leave_the_table_alone(layout: StorageLayout) -> None:
    version = DeltaTable(layout.table(RAW)).version()
    plan_batch(place(layout, RAW), 12, {"cloudFiles_orders": {"logOffset": 11}})
    write(place(layout, RAW), "commits/12", b'v1\n{"nextBatchWatermarkMs":0}')
    with EventLog.open(layout.uri, pipeline_name="shop", update_id="later") as log:
        told = builders.flow_batch("raw", BatchProgress(batch_id=12, num_input_rows=0, num_output_rows=0))
        log.append(EventType.FLOW_PROGRESS, *told, dataset="shop.raw", flow="raw", batch_id=12)
    done = answer("rewind", "raw", "--to-batch", "11", "--yes")
    assert (done["tables"], DeltaTable(layout.table(RAW)).version()) == ([], version)


# --- refused: nothing changes -----------------------------------------------


def _delete_a_row(layout: StorageLayout) -> None:
    DeltaTable(layout.table(TOPIC)).delete("id = 0")


def _other_flow(layout: StorageLayout) -> None:
    write_rows(layout, TOPIC, "another query", 7)


def _cut_the_log(layout: StorageLayout) -> None:
    DeltaTable(layout.table(TOPIC)).create_checkpoint()
    for version in range(4):
        Path(layout.table(TOPIC), f"_delta_log/{version:020d}.json").unlink()


def _vacuum(layout: StorageLayout) -> None:
    table = DeltaTable(layout.table(TOPIC))
    table.optimize.compact()
    table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)


IMPOSSIBLE = {
    "DELETE in version": _delete_a_row,
    "others have changed rows": _other_flow,
    "no longer reaches back": _cut_the_log,
    "VACUUM has deleted files": _vacuum,
}


@pytest.mark.parametrize("reason", IMPOSSIBLE)
def test_rows_of_others_are_not_taken_back(layout: StorageLayout, reason: str) -> None:
    IMPOSSIBLE[reason](layout)
    before = content(layout)
    error = refusal("rewind", "topic", "--to-batch", "1", "--yes")
    assert error["condition"] == "CHECKPOINT_REWIND_NOT_POSSIBLE"
    assert reason in error["message"]
    assert content(layout) == before


def test_what_maintenance_did_does_not_matter(layout: StorageLayout) -> None:
    DeltaTable(layout.table(TOPIC)).optimize.compact()
    answer("rewind", "topic", "--to-batch", "1", "--yes")
    assert ids(layout, TOPIC) == [0, 1]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("topic", "--to-batch", "3"), "newest batch"),
        (("topic", "--to-batch", "9"), "holds the batches 0 to 3"),
        (("hourly", "--to-batch", "1"), "the state after batch 1"),
    ],
)
def test_where_there_is_no_way_back(layout: StorageLayout, words: tuple[str, ...], reason: str) -> None:
    (place(layout, HOURLY) / "state/0/1/2.changelog").unlink()
    before = content(layout)
    assert reason in refusal("rewind", *words, "--yes")["message"]
    assert content(layout) == before


def test_change_flows_and_sinks_do_not_go_back(layout: StorageLayout) -> None:
    with EventLog.open(layout.uri, pipeline_name="shop", update_id="later") as log:
        flow = builders.flow_definition("topic", output_dataset="shop.topic", flow_type="change")
        log.append(EventType.FLOW_DEFINITION, *flow, dataset="shop.topic", flow="topic")
        sink = builders.sink_definition("shop.hourly", sink_format="kafka", options={})
        log.append(EventType.SINK_DEFINITION, *sink, dataset="shop.hourly")
    assert "of kind 'change'" in refusal("rewind", "topic", "--to-batch", "1", "--yes")["message"]
    assert "a sink" in refusal("rewind", "hourly", "--to-batch", "1", "--yes")["message"]


def test_readers_are_named_unless_it_is_forced(layout: StorageLayout) -> None:
    with EventLog.open(layout.uri, pipeline_name="shop", update_id="later") as log:
        for name, kind, reads in (
            ("topic", "append", ()),
            ("cleaned", "view", ("shop.topic",)),
            ("raw", "append", ("shop.cleaned",)),
            ("totals", "materialized_view", ("shop.topic",)),
        ):
            flow = builders.flow_definition(name, output_dataset=f"shop.{name}", flow_type=kind, input_datasets=reads)
            log.append(EventType.FLOW_DEFINITION, *flow, dataset=f"shop.{name}", flow=name)
    error = refusal("rewind", "topic", "--to-batch", "1", "--yes")
    assert (error["condition"], error["message"].endswith("as a stream: shop.raw.")) == (
        "CHECKPOINT_REWIND_BREAKS_READERS",
        True,
    )
    assert "penstock run --full-refresh shop.raw" in error["fix"]
    answer("rewind", "topic", "--to-batch", "1", "--yes", "--force")


def test_a_damaged_checkpoint_and_a_run_are_left_alone(layout: StorageLayout) -> None:
    without_a_terminal = refusal("rewind", "topic", "--to-batch", "1", code=2)
    assert without_a_terminal["condition"] == "CHECKPOINT_CHANGE_NOT_CONFIRMED"
    with StorageLock(layout.uri):
        assert refusal("rewind", "topic", "--to-batch", "1", "--yes")["condition"] == "STORAGE_LOCKED"
    (place(layout, TOPIC) / "offsets/0").write_bytes(b"")
    assert refusal("rewind", "topic", "--to-batch", "1", "--yes")["condition"] == "CHECKPOINT_FILE_DAMAGED"


# --- interrupted ------------------------------------------------------------


class Died(BaseException):
    """The process was killed."""


@pytest.mark.parametrize("step", ["restore", "after restore", "copy", "exchange"])
def test_an_interrupted_rewind_is_named_and_repeated(
    layout: StorageLayout, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def die(*_: object, **__: object) -> None:
        raise Died

    restore = Target.restore

    def restore_and_die(self: Target, version: int) -> None:
        restore(self, version)
        raise Died

    with monkeypatch.context() as patch:
        match step:
            case "restore":
                patch.setattr(Target, "restore", die)
            case "after restore":
                patch.setattr(Target, "restore", restore_and_die)
            case "copy":
                patch.setattr(sys.modules["penstock.storage.checkpoint.changes"], "begin_new_query", die)
            case _:
                patch.setattr(sys.modules["penstock.storage.checkpoint.staging"], "exchange", die)
        with pytest.raises(Died):
            runner.invoke(app, ["checkpoint", "rewind", "topic", "--to-batch", "1", "--yes"], catch_exceptions=False)
    [finding] = answer("verify", code=3)["findings"]
    assert finding["condition"] == "CHECKPOINT_REWIND_UNFINISHED"
    assert finding["fix"].endswith("penstock checkpoint rewind shop.topic --to-batch 1")
    assert refusal("rewind", "topic", "--to-batch", "2", "--yes")["condition"] == "CHECKPOINT_REWIND_UNFINISHED"
    answer("rewind", "topic", "--to-batch", "1", "--yes")
    assert ids(layout, TOPIC) == [0, 1]
    assert answer("verify")["findings"] == []
    assert not [name for name in content(layout) if ".restoring-" in name]


def test_a_table_that_cannot_be_restored_changes_nothing(
    layout: StorageLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Target, _: int) -> None:
        raise StateError("TABLE_NOT_READABLE", dataset=self.name, name=self.name, reason="read only")

    before = content(layout)
    with monkeypatch.context() as patch:
        patch.setattr(Target, "restore", refuse)
        assert refusal("rewind", "topic", "--to-batch", "1", "--yes")["condition"] == "TABLE_NOT_READABLE"
    assert {name: text for name, text in content(layout).items() if not name.startswith("events/")} == {
        name: text for name, text in before.items() if not name.startswith("events/")
    }
