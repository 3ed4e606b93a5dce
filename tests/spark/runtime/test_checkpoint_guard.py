"""What a run does about checkpoints that a power loss, a copy or a deletion has left behind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.spark.pipeline_project import PipelineProject
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.errors import StateError, UpdateRefused
from penstock.plan.selection import RefreshSelection
from penstock.runtime import plan_update

CODE = """
def one_by_one():
    return spark.readStream.option("maxFilesPerTrigger", 1)

@dlt.table
def orders():
    return one_by_one().schema("id LONG").json("in")

@dlt.table
def counts():
    return one_by_one().table("orders").groupBy("id").count()

@dlt.table
def copied():
    return one_by_one().table("orders")
"""


def refused(project: PipelineProject) -> list[StateError]:
    """The refusals of a plan, which are those of a run; the run has written nothing."""
    before = {table: project.version(table) for table in ("orders", "counts", "copied")}
    planned = plan_update(project.config, RefreshSelection(), spark=project.spark).plan
    with pytest.raises(UpdateRefused) as refused:
        project.run()
    assert [str(each) for each in refused.value.errors] == [str(each) for each in planned.refusals]
    assert {table: project.version(table) for table in before} == before
    return [each for each in planned.refusals if isinstance(each, StateError)]


def run_two_batches(project: PipelineProject) -> None:
    project.write(CODE)
    project.arrive("1", [{"id": 1}])
    project.arrive("2", [{"id": 1}, {"id": 2}])
    assert project.run().errors == ()


def findings(project: PipelineProject) -> list[str]:
    done = CliRunner().invoke(app, ["checkpoint", "verify", str(project.directory), "--json"])
    return [each["condition"] for each in json.loads(done.stdout)["findings"]]


def folders(project: PipelineProject) -> tuple[Path, Path, Path]:
    checkpoints = project.directory / ".penstock/checkpoints/shop"
    orders, counts, copied = (checkpoints / f"{name}/{name}/0" for name in ("orders", "counts", "copied"))
    return orders, counts, copied


def test_power_loss_is_repaired_and_lost_or_foreign_checkpoints_are_refused(project: PipelineProject) -> None:
    orders, counts, copied = folders(project)
    run_two_batches(project)

    # The machine lost its power: the newest files are there, and empty.
    [source] = (orders / "sources").iterdir()
    for file in (orders / "offsets/2", source / "2", counts / "commits/1"):
        file.write_bytes(b"")
        (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    # One flow's checkpoint in the place of another's, and none at all.
    kept = project.directory / "kept"
    shutil.move(copied, kept)
    shutil.copytree(counts, copied)
    error = refused(project)[0]
    assert (error.condition, error.dataset) == ("CHECKPOINT_FOREIGN", "shop.copied")
    shutil.rmtree(copied)
    [error] = refused(project)
    assert (error.condition, error.facts["path"]) == ("CHECKPOINT_LOST", str(copied))

    # An older plan in the place of the newest, checksum and all: its rows would be read twice.
    newest, older = (counts / "offsets" / number for number in ("1", "0"))
    plan = newest.read_bytes()
    newest.write_bytes(older.read_bytes())
    (newest.parent / ".1.crc").unlink()
    assert ("CHECKPOINT_FILE_DAMAGED", "shop.counts") in {(each.condition, each.dataset) for each in refused(project)}
    newest.write_bytes(plan)

    # Lost and made again: what decides what its next batches read is the same.
    done = CliRunner().invoke(app, ["checkpoint", "rebuild", "copied", str(project.directory), "--yes"])
    assert done.exit_code == 0, done.output
    assert {file.name for file in (copied / "offsets").iterdir()} == {"0", "1"}
    for number in ("0", "1"):
        made, lost = ((place / "offsets" / number).read_text().splitlines() for place in (copied, kept))
        assert (made[0], made[2:]) == (lost[0], lost[2:])
        # Spark notes the number of partitions from the second batch on.
        assert json.loads(made[1])["conf"].items() >= json.loads(lost[1])["conf"].items()
        assert (copied / "commits" / number).read_text() == (kept / "commits" / number).read_text()
    assert (copied / "metadata").read_text() == (kept / "metadata").read_text()

    project.arrive("3", [{"id": 3}])
    repaired = project.run()
    assert repaired.errors == ()
    assert project.rows("orders", "id") == project.rows("copied", "id") == [1, 1, 2, 3]
    assert project.rows("counts", "id", "count") == [(1, 2), (2, 1), (3, 1)]
    said = [event.message for event in project.events(repaired) if "repairs its checkpoint" in event.message]
    for part in ("the plan of batch 2 is empty", f"step 2 of source {source.name} is empty", "that batch 1 is done is"):
        assert sum(part in text for text in said) == 1, said
    assert len(said) == 3
    assert findings(project) == []


def test_a_flow_goes_back_to_an_earlier_batch_and_does_the_rest_again_once(project: PipelineProject) -> None:
    _, counts, _ = folders(project)
    run_two_batches(project)
    assert rewind(project, "counts") == 0
    assert project.rows("counts", "id", "count") == [(1, 1)]
    assert project.run(refresh=("counts",)).errors == ()
    assert project.rows("counts", "id", "count") == [(1, 2), (2, 1)]
    assert rewind(project, "orders") == 3, "streams read it"
    assert rewind(project, "orders", "--force") == 0
    assert project.rows("orders", "id") == [1]
    assert project.run(refresh=("orders",), full_refresh=("copied", "counts")).errors == ()
    assert project.rows("orders", "id") == project.rows("copied", "id") == [1, 1, 2]
    assert project.rows("counts", "id", "count") == [(1, 2), (2, 1)]
    assert findings(project) == []

    # State that is damaged has its name only when Spark loads it; a run does not read all of it.
    counts = counts.parent / "1"
    [state] = (counts / "state/0/0").glob("1.changelog")
    state.write_bytes(b"")
    project.arrive("3", [{"id": 3}])
    [unloaded] = project.run(refresh=("orders", "counts")).errors
    assert (unloaded.condition, unloaded.exit_code) == ("CHECKPOINT_STATE_NOT_LOADED", 3)


def rewind(project: PipelineProject, flow: str, *words: str) -> int:
    """Takes a flow back to its first batch; returns the exit code."""
    folder = str(project.directory)
    return CliRunner().invoke(app, ["checkpoint", "rewind", flow, folder, "--to-batch", "0", "--yes", *words]).exit_code
