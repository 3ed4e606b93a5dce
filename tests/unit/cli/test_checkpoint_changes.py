"""`penstock checkpoint backup | restore | reset`: nothing is lost, doubled or deleted unasked. No Spark."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.recorded.checkpoints import (
    HOURLY,
    RAW,
    TOPIC,
    commit_batch,
    copied_checkpoints,
    place,
    plan_batch,
    query_id,
    report,
    write_rows,
)
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.events import EventLog, EventType, builders, read_events
from penstock.graph.identifier import Identifier
from penstock.plan.state import GENERATION
from penstock.storage import StorageLayout, StorageLock

runner = CliRunner()


@pytest.fixture
def project(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "penstock.yml").write_text("name: shop\nschema: shop\n")
    copied_checkpoints(recorded, tmp_path / ".penstock")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def layout(project: Path) -> StorageLayout:
    return StorageLayout(str(project / ".penstock"))


def answer(*words: str, code: int = 0) -> Any:
    done = runner.invoke(app, ["checkpoint", *words, "--json"])
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def refusal(*words: str, code: int = 3) -> dict[str, Any]:
    [error] = answer(*words, code=code)["errors"]
    return dict(error)


def content(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def everything(layout: StorageLayout) -> dict[str, bytes]:
    return content(Path(layout.uri, "checkpoints"))


def go_on(layout: StorageLayout, batch: int) -> None:
    """One more batch of the topic, from its plan to its event."""
    plan_batch(place(layout, TOPIC), batch, {"kafka_orders": {"orders": {"0": 10 * batch, "1": 10 * batch}}})
    write_rows(layout, TOPIC, query_id(layout, TOPIC), batch)
    commit_batch(place(layout, TOPIC), batch)
    report(layout, TOPIC, batch, rows=7)


# --- backup and restore -----------------------------------------------------


def test_a_lost_checkpoint_comes_back_byte_by_byte(project: Path, layout: StorageLayout) -> None:
    before = everything(layout)
    made = answer("backup", "copies/monday")
    assert made["backup"] == str(project / "copies/monday")
    assert {each["flow"] for each in made["checkpoints"]} == {"raw", "topic", "hourly"}
    shutil.rmtree(Path(layout.uri, "checkpoints"))
    assert {each["condition"] for each in answer("verify", code=3)["findings"]} == {"CHECKPOINT_LOST"}
    restored = answer("restore", "copies/monday", "--yes")["restored"]
    assert {(each["flow"], each["last_batch"], each["kept"], each["writes_again"]) for each in restored} == {
        ("raw", 11, None, False),
        ("topic", 3, None, False),
        ("hourly", 3, None, False),
    }
    assert everything(layout) == before
    assert answer("verify")["findings"] == []


def test_what_was_there_is_kept(project: Path, layout: StorageLayout) -> None:
    answer("backup", "copy", "--flow", "raw")
    sound = content(place(layout, RAW))
    (place(layout, RAW) / "offsets/11").write_bytes(b"")
    damaged = content(place(layout, RAW))
    [restored] = answer("restore", "copy", "--yes")["restored"]
    assert content(place(layout, RAW)) == sound
    assert content(Path(restored["kept"])) == damaged
    actions = [event for event in read_events(layout.uri) if event.event_type is EventType.USER_ACTION]
    assert actions[-1].details["user_action"]["action"] == "RESTORE_CHECKPOINT"
    assert (actions[-1].origin.dataset_name, actions[-1].origin.flow_name) == ("shop.raw", "raw")


def test_the_note_on_unique_keys_goes_with_its_batch(project: Path, layout: StorageLayout) -> None:
    note = Path(layout.checkpoints(RAW, "raw"), "compared_with.json")
    note.write_text("monday")
    answer("backup", "copy")
    note.write_text("tuesday")
    answer("restore", "copy", "--flow", "raw", "--yes")
    assert note.read_text() == "monday"


def test_a_flow_that_is_named_twice_is_restored_once(project: Path, layout: StorageLayout) -> None:
    answer("backup", "copy")
    before = content(place(layout, RAW))
    [restored] = answer("restore", "copy", "--flow", "raw", "--flow", "shop.raw", "--yes")["restored"]
    assert content(place(layout, RAW)) == content(Path(restored["kept"])) == before
    assert answer("verify")["findings"] == []
    assert len(answer("verify", "--flow", "raw", "--flow", "RAW")["checked"]) == 1
    shutil.rmtree(layout.checkpoints(RAW, "raw"))
    assert len(answer("verify", "--flow", "raw", "--flow", "RAW", code=3)["findings"]) == 1


def test_a_batch_in_flight_goes_with_the_backup(project: Path, layout: StorageLayout) -> None:
    plan_batch(place(layout, TOPIC), 4, {"kafka_orders": {"orders": {"0": 50}}})
    answer("backup", "copy")
    write_rows(layout, TOPIC, query_id(layout, TOPIC), 4)
    commit_batch(place(layout, TOPIC), 4)
    [restored] = answer("restore", "copy", "--flow", "topic", "--yes")["restored"]
    assert (restored["last_batch"], restored["writes_again"]) == (3, False)
    assert answer("verify")["findings"] == [], "batch 4 is planned as it was, so the table leaves it out"


def test_a_table_that_went_on_refuses_until_doubles_are_accepted(project: Path, layout: StorageLayout) -> None:
    answer("backup", "copy")
    go_on(layout, 4)
    go_on(layout, 5)
    before = everything(layout)
    error = refusal("restore", "copy", "--yes")
    assert error["condition"] == "CHECKPOINT_RESTORE_REPEATS_BATCHES"
    assert "from batch 4 on (newest: 5, 14 rows by the event log)" in error["message"]
    assert everything(layout) == before
    old = query_id(layout, TOPIC)
    restored = answer("restore", "copy", "--force", "--yes")["restored"]
    assert {each["flow"]: each["writes_again"] for each in restored} == {"raw": False, "topic": True, "hourly": False}
    assert query_id(layout, TOPIC) != old, "under the old id the table would drop the next two batches"
    assert answer("verify")["findings"] == []
    answer("backup", "again")
    answer("restore", "again", "--yes")
    assert answer("verify")["findings"] == []


def test_rows_of_a_later_query_are_seen_as_well(project: Path, layout: StorageLayout) -> None:
    answer("backup", "copy")
    answer("reset", "topic", "--yes")
    new = place(layout, TOPIC)
    (new / "offsets").mkdir(parents=True)
    (new / "metadata").write_text('{"id":"00000000-0000-0000-0000-000000000009"}')
    assert answer("restore", "copy", "--flow", "topic", "--yes")["restored"][0]["writes_again"] is False
    answer("reset", "topic", "--yes")
    new.mkdir(parents=True)
    (new / "metadata").write_text('{"id":"00000000-0000-0000-0000-000000000009"}')
    write_rows(layout, TOPIC, "00000000-0000-0000-0000-000000000009", 0)
    assert refusal("restore", "copy", "--yes")["condition"] == "CHECKPOINT_RESTORE_REPEATS_BATCHES"


def test_a_sink_that_went_on_refuses_as_well(project: Path, layout: StorageLayout) -> None:
    shutil.rmtree(layout.table(TOPIC))
    with EventLog.open(layout.uri, pipeline_name="shop", update_id="sink") as log:
        definition = builders.sink_definition("shop.topic", sink_format="kafka", options={})
        log.append(EventType.SINK_DEFINITION, *definition, dataset="shop.topic")
    answer("backup", "copy", "--flow", "topic")
    assert answer("restore", "copy", "--yes")["restored"][0]["writes_again"] is False
    plan_batch(place(layout, TOPIC), 4, {"kafka_orders": {"orders": {"0": 50}}})
    assert refusal("restore", "copy", "--yes")["condition"] == "CHECKPOINT_RESTORE_REPEATS_BATCHES"
    shutil.rmtree(layout.checkpoints(TOPIC, "topic"))
    assert answer("restore", "copy", "--yes")["restored"][0]["last_batch"] == 3
    report(layout, TOPIC, 4, rows=1)
    assert refusal("restore", "copy", "--yes")["condition"] == "CHECKPOINT_RESTORE_REPEATS_BATCHES"


def test_a_table_that_lacks_what_the_backup_has_read(project: Path, layout: StorageLayout) -> None:
    answer("backup", "copy")
    shutil.rmtree(layout.table(TOPIC))
    write_rows(layout, TOPIC, query_id(layout, TOPIC), 1)
    for words in ([], ["--force"]):
        error = refusal("restore", "copy", "--yes", *words)
        assert error["condition"] == "CHECKPOINT_AHEAD_OF_TARGET"
    shutil.rmtree(layout.table(TOPIC))
    assert refusal("restore", "copy", "--yes")["condition"] == "CHECKPOINT_AHEAD_OF_TARGET"


def test_a_backup_from_before_a_full_refresh(project: Path, layout: StorageLayout) -> None:
    answer("backup", "copy")
    table = DeltaTable(layout.table(RAW))
    table.alter.set_table_properties({GENERATION: "1"}, raise_if_not_exists=False)
    error = refusal("restore", "copy", "--force", "--yes")
    assert (error["condition"], error["dataset"]) == ("CHECKPOINT_BACKUP_OF_OTHER_GENERATION", "shop.raw")


@pytest.mark.parametrize("damage", ["changed", "missing", "longer"])
def test_a_damaged_backup_changes_nothing(project: Path, layout: StorageLayout, damage: str) -> None:
    answer("backup", "copy")
    file = project / "copy/checkpoints/shop/topic/topic/0/offsets/3"
    match damage:
        case "changed":
            file.write_bytes(file.read_bytes().replace(b"40", b"41"))
        case "missing":
            file.unlink()
        case _:
            file.write_bytes(file.read_bytes() + b" ")
    before = {name: text for name, text in everything(layout).items() if ".restoring-" not in name}
    error = refusal("restore", "copy", "--yes")
    assert error["condition"] == "CHECKPOINT_BACKUP_DAMAGED"
    assert str(file) in error["message"]
    after = everything(layout)
    assert {name: text for name, text in after.items() if ".restoring-" not in name} == before
    assert answer("verify")["findings"] == []
    answer("restore", "copy", "--flow", "raw", "--yes")
    assert not any(".restoring-" in name for name in everything(layout) if "/raw/raw/" in name), "left over is gone"


@pytest.mark.parametrize("name", ["../../../escaped", "/tmp/escaped", "a/../../escaped", ""])
def test_a_manifest_cannot_lead_out_of_its_folder(project: Path, layout: StorageLayout, name: str) -> None:
    answer("backup", "copy")
    manifest = project / "copy/manifest.json"
    document = json.loads(manifest.read_text())
    document["checkpoints_v1"][0]["files"][0]["name"] = name
    manifest.write_text(json.dumps(document))
    assert refusal("restore", "copy", "--yes")["condition"] == "CHECKPOINT_BACKUP_DAMAGED"


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"checkpoints_v1": 3}', '{"checkpoints_v1": [{}]}'])
def test_a_manifest_that_is_none(project: Path, text: str) -> None:
    (project / "copy").mkdir()
    (project / "copy/manifest.json").write_text(text)
    assert refusal("restore", "copy", "--yes")["condition"] == "CHECKPOINT_BACKUP_DAMAGED"


def test_an_interrupted_backup_is_none(project: Path) -> None:
    answer("backup", "copy")
    (project / "copy/manifest.json").unlink()
    assert refusal("restore", "copy", "--yes", code=2)["condition"] == "CHECKPOINT_BACKUP_NOT_FOUND"
    assert refusal("backup", "copy", code=2)["condition"] == "CHECKPOINT_BACKUP_PLACE_TAKEN"


def test_where_a_backup_cannot_be(project: Path) -> None:
    assert refusal("backup", ".penstock/checkpoints/x", code=2)["condition"] == "CHECKPOINT_BACKUP_PLACE_TAKEN"
    assert refusal("backup", "copy", "--flow", "nothing", code=2)["condition"] == "CHECKPOINT_NOT_FOUND"
    answer("backup", "copy", "--flow", "raw")
    assert refusal("restore", "copy", "--flow", "topic", "--yes", code=2)["condition"] == "CHECKPOINT_NOT_FOUND"


def test_what_is_damaged_is_not_backed_up(project: Path, layout: StorageLayout) -> None:
    (place(layout, HOURLY) / "state/0/0/4.changelog").write_bytes(b"")
    assert refusal("backup", "copy")["condition"] == "CHECKPOINT_FILE_DAMAGED"
    assert not (project / "copy").exists()
    assert len(answer("backup", "copy", "--flow", "raw")["checkpoints"]) == 1


@pytest.mark.parametrize("words", [["backup", "other"], ["restore", "copy", "--yes"], ["reset", "raw", "--yes"]])
def test_a_run_is_not_disturbed(project: Path, layout: StorageLayout, words: list[str]) -> None:
    answer("backup", "copy")
    before = everything(layout)
    with StorageLock(layout.uri):
        assert refusal(*words)["condition"] == "STORAGE_LOCKED"
    assert everything(layout) == before


@pytest.mark.parametrize("words", [["restore", "copy"], ["reset", "raw"]])
def test_without_a_terminal_a_yes_is_needed(project: Path, layout: StorageLayout, words: list[str]) -> None:
    answer("backup", "copy")
    before = everything(layout)
    assert refusal(*words, code=2)["condition"] == "CHECKPOINT_CHANGE_NOT_CONFIRMED"
    assert everything(layout) == before


# --- reset ------------------------------------------------------------------


def test_reset_lets_a_flow_begin_anew_and_keeps_the_rest(project: Path, layout: StorageLayout) -> None:
    before, others = content(place(layout, RAW)), content(place(layout, TOPIC))
    [done] = answer("reset", "raw", "--yes")["reset"]
    assert not place(layout, RAW).exists()
    assert content(Path(done["kept"][0])) == before
    assert content(place(layout, TOPIC)) == others
    assert answer("verify")["findings"] == [], "it was asked for, so nothing is lost"
    assert {each["flow"] for each in answer("ls")} == {"topic", "hourly"}
    assert DeltaTable(layout.table(RAW)).count() == 1
    assert refusal("reset", "raw", "--yes", code=2)["condition"] == "CHECKPOINT_NOT_FOUND"


def test_a_flow_that_has_lost_its_checkpoint_can_begin_anew(project: Path, layout: StorageLayout) -> None:
    shutil.rmtree(layout.checkpoints(RAW, "raw"))
    assert answer("verify", code=3)["findings"][0]["condition"] == "CHECKPOINT_LOST"
    assert answer("reset", "raw", "--yes")["reset"] == [{"dataset": "shop.raw", "flow": "raw", "kept": []}]
    assert answer("verify")["findings"] == []
    assert refusal("reset", "raw", "--yes", code=2)["condition"] == "CHECKPOINT_NOT_FOUND"


def test_reset_leaves_no_older_generation_for_a_sink_to_go_on_with(project: Path, layout: StorageLayout) -> None:
    with EventLog.open(layout.uri, pipeline_name="shop", update_id="sink") as log:
        definition = builders.sink_definition("shop.out", sink_format="kafka", options={})
        log.append(EventType.SINK_DEFINITION, *definition, dataset="shop.out")
    out = Identifier("shop", "out")
    for generation in (0, 1):
        shutil.copytree(place(layout, TOPIC), layout.checkpoint(out, "send", generation))
    [done] = answer("reset", "out/send", "--yes")["reset"]
    assert len(done["kept"]) == 2
    assert [each for each in answer("ls") if each["dataset"] == "shop.out"] == []
