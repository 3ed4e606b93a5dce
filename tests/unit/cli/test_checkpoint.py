"""`penstock checkpoint`: what people and programs are shown, on a recorded storage. No Spark."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.recorded.checkpoints import RAW, TOPIC, copied_checkpoints, place, plan_batch
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.storage import StorageLayout, StorageLock

runner = CliRunner(env={"COLUMNS": "80"})


@pytest.fixture
def project(recorded: Path, tmp_path: Path) -> Path:
    (tmp_path / "penstock.yml").write_text("name: shop\nschema: shop\n")
    copied_checkpoints(recorded, tmp_path / ".penstock")
    return tmp_path


@pytest.fixture
def layout(project: Path) -> StorageLayout:
    return StorageLayout(str(project / ".penstock"))


def ask(*words: str, code: int = 0) -> Result:
    result = runner.invoke(app, ["checkpoint", *words])
    assert result.exit_code == code, result.output
    return result


def answer(*words: str, code: int = 0) -> Any:
    return json.loads(ask(*words, "--json", code=code).stdout)


def test_ls_for_people_and_for_programs(project: Path, layout: StorageLayout) -> None:
    shutil.copytree(place(layout, TOPIC), layout.checkpoint(TOPIC, "old", 0))
    plan_batch(place(layout, TOPIC), 4, {"kafka_orders": {"orders": {"0": 60}}})
    shown = ask("ls", str(project)).stdout
    assert all(len(line.rstrip()) <= 80 for line in shown.splitlines())
    assert "shop.topic/old" in shown
    assert "not declared" in shown
    rows = {row["flow"]: row for row in answer("ls", str(project))}
    assert set(rows) == {"raw", "topic", "old", "hourly"}
    assert (rows["topic"]["last_batch"], rows["topic"]["in_flight_batch"]) == (3, 4)
    assert (rows["old"]["in_use"], rows["old"]["declared"]) == (True, False)
    assert rows["raw"]["bytes"] > 0
    assert rows["raw"]["path"] == layout.checkpoint(RAW, "raw", 0)


def test_ls_before_the_first_run(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: shop\n")
    assert "no checkpoint yet" in ask("ls", str(tmp_path)).stdout
    assert answer("ls", str(tmp_path)) == []
    assert answer("verify", str(tmp_path)) == {"checked": [], "findings": []}
    assert not (tmp_path / ".penstock").exists()


def test_show_says_what_each_source_was_read_to(project: Path) -> None:
    shown = ask("show", "raw", str(project)).stdout
    assert "step 11, 1 file" in shown
    assert "holds batch 11" in shown
    shown = ask("show", "hourly", str(project)).stdout
    assert "up to version 4" in shown
    assert "stateStoreSave (default in 2 partitions)" in shown
    [document] = answer("show", "topic", str(project))
    assert document["batches"][-1]["offsets"] == {"kafka_orders": {"orders": {"0": 40, "1": 37}}}


def test_show_chooses_the_generation_in_use(project: Path, layout: StorageLayout) -> None:
    shutil.copytree(place(layout, TOPIC), layout.checkpoint(TOPIC, "topic", 3))
    [document] = answer("show", "topic", str(project))
    assert (document["generation"], document["in_use"]) == (0, True)


def test_show_of_a_flow_that_is_not_there(project: Path) -> None:
    [error] = answer("show", "rav", str(project), code=2)["errors"]
    assert error["condition"] == "CHECKPOINT_NOT_FOUND"
    assert "'raw'" in error["message"]


def test_verify_exits_with_what_it_found(project: Path, layout: StorageLayout) -> None:
    sound = ask("verify", str(project))
    assert "3 checkpoints checked: nothing wrong" in sound.stderr
    assert sound.stdout == ""
    (place(layout, RAW) / "offsets/11").write_bytes(b"")
    shown = ask("verify", str(project), code=3).stdout
    assert "CHECKPOINT_FILE_DAMAGED" in shown
    assert "penstock run --full-refresh shop.raw" in shown
    document = answer("verify", str(project), code=3)
    [finding] = document["findings"]
    assert (finding["condition"], finding["dataset"]) == ("CHECKPOINT_FILE_DAMAGED", "shop.raw")
    assert len(document["checked"]) == 3
    assert len(answer("verify", str(project), "--flow", "topic")["checked"]) == 1


def test_verify_of_a_flow_whose_checkpoint_is_lost(project: Path, layout: StorageLayout) -> None:
    shutil.rmtree(layout.checkpoints(RAW, "raw"))
    [finding] = answer("verify", str(project), "--flow", "raw", code=3)["findings"]
    assert finding["condition"] == "CHECKPOINT_LOST"


def test_looking_is_allowed_while_a_run_works(project: Path, layout: StorageLayout) -> None:
    plan_batch(place(layout, RAW), 12, {"cloudFiles_orders": {"logOffset": 11}})
    with StorageLock(layout.uri):
        shown = ask("verify", str(project)).stderr
    assert "batch 12 is in flight" in shown
    assert "A run works on this storage" in shown
