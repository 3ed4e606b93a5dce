"""Sources that lose what was not read yet: refused with what is lost, and left behind when that is accepted."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import ConfigError
from penstock.runtime import UpdateOutcome
from penstock.spark._jvm import jvm

PIPELINE = """
def known(rows):
    return rows.where("100 div (99 - id) IS NOT NULL")

@dlt.table
def plain():
    return known(spark.readStream.schema("id LONG").json("in"))

@dlt.table
def loaded():
    files = spark.readStream.format("cloudFiles").option("cloudFiles.format", "json").schema("id LONG")
    return known(files.load("in"))

def table(name, **options):
    return spark.readStream.format("delta").options(maxFilesPerTrigger=1, **options).load(name)

@dlt.table
def cleaned():
    return table("cleaned", startingVersion=0)

@dlt.table
def begun():
    return table("begun")

@dlt.table
def young():
    return table("young")

@dlt.table
def replaced():
    return table("replaced")

@dlt.table
def vacuumed():
    return table("vacuumed")
"""
FILES_AND_VERSIONS = """
@dlt.table
def files():
    files = spark.readStream.format("cloudFiles").option("cloudFiles.format", "json").schema("id LONG")
    return files.load("in").where("100 div (99 - id) IS NOT NULL")

@dlt.table
def versions():
    return spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load("versions")
"""
_TABLES = ("cleaned", "begun", "young", "replaced", "vacuumed")


def _append(table: Path, *numbers: int) -> None:
    write_deltalake(str(table), pa.table({"id": pa.array(numbers, pa.int64())}), mode="append")


def _lose_files(folder: Path) -> None:
    (folder / "2.json").unlink()
    (folder / "3.json").write_text('{"id": 30}\n')
    os.utime(folder / "3.json", (1_700_000_000, 1_700_000_000))


def _lose_versions(table: Path, newest: int) -> None:
    for number in (3, 4, 5):
        _append(table, number)
    DeltaTable(str(table)).create_checkpoint()
    for version in range(newest):  # as Delta's own clean-up leaves it
        (table / f"_delta_log/{version:020d}.json").unlink()
    _append(table, 6)


def _lose(folder: Path) -> str:
    """Takes from each table what nobody has read; returns the path of a data file that is gone."""
    for name, newest in (("cleaned", 4), ("begun", 4), ("young", 3)):
        _lose_versions(folder / name, newest)
    shutil.rmtree(folder / "replaced")
    _append(folder / "replaced", 7, 8)
    known = set((folder / "vacuumed").glob("*.parquet"))
    _append(folder / "vacuumed", 2)
    [gone] = set((folder / "vacuumed").glob("*.parquet")) - known
    gone.unlink()
    _append(folder / "vacuumed", 3)
    return str(gone)


def _losses(update: UpdateOutcome) -> dict[str, tuple[str, str]]:
    return {error.facts["flow"]: (error.condition, error.facts.get("lost", error.message)) for error in update.errors}


def test_lost_files_and_versions_stop_their_flows_until_that_is_accepted(project: PipelineProject) -> None:
    project.write(FILES_AND_VERSIONS)
    folder = project.directory
    for file, number in (("1", 1), ("2", 99), ("3", 3)):  # the second one keeps the batch planned
        project.arrive(file, [{"id": number}])
    _append(folder / "versions", 1)
    assert {error.condition for error in project.run().errors} == {"DATA_EXCEPTION"}

    _lose_files(folder / "in")
    _lose_versions(folder / "versions", 3)
    jvm(project.spark).org.apache.spark.sql.delta.DeltaLog.clearCache()
    before = project.version("versions")
    refused = project.run()
    files = f"deleted: {folder}/in/2.json; overwritten: {folder}/in/3.json"
    versions = f"versions 1 to 3 of {folder}/versions"
    assert _losses(refused) == {
        "files": ("SOURCE_FILES_LOST", files),
        "versions": ("SOURCE_VERSIONS_LOST", versions),
    }
    assert {error.exit_code for error in refused.errors} == {3}
    assert (project.path("files").exists(), project.version("versions")) == (True, before), "nothing was written"

    assert project.run(accept_data_loss=("files", "versions")).errors == ()
    assert project.rows("files", "id") == [1, 30]
    assert project.rows("versions", "id") == [1, 6]
    noted = [event for event in project.events() if event.message.startswith("accept data loss")]
    assert {event.origin.flow_name: event.details["user_action"]["arguments"]["lost"] for event in noted} == {
        "files": files,
        "versions": versions,
    }


@pytest.mark.slow
def test_a_loss_is_refused_until_it_is_accepted(project: PipelineProject) -> None:
    project.write(PIPELINE)
    folder = project.directory
    for file, number in (("1", 1), ("2", 99), ("3", 3)):  # the second one keeps the batch planned
        project.arrive(file, [{"id": number}])
    for name in _TABLES:
        _append(folder / name, 1)
    for name in ("cleaned", "begun"):
        _append(folder / name, 2)  # a second batch
    first = project.run()
    assert {error.condition for error in first.errors} == {"DATA_EXCEPTION"}
    with pytest.raises(ConfigError, match="has not reported lost data"):
        project.run(accept_data_loss=("plain",))

    _lose_files(folder / "in")
    identity = DeltaTable(str(folder / "replaced")).metadata().id
    gone = _lose(folder)
    jvm(project.spark).org.apache.spark.sql.delta.DeltaLog.clearCache()
    refused = project.run()
    files = f"deleted: {folder}/in/2.json; overwritten: {folder}/in/3.json"
    now = DeltaTable(str(folder / "replaced")).metadata().id
    assert _losses(refused) == {
        "plain": ("SOURCE_FILES_LOST", files),
        "loaded": ("SOURCE_FILES_LOST", files),
        "cleaned": ("SOURCE_VERSIONS_LOST", "versions 2 to 3 of the source delta_cleaned"),
        "begun": ("SOURCE_VERSIONS_LOST", f"versions 2 to 3 of {folder}/begun"),
        "young": ("SOURCE_VERSIONS_LOST", f"versions 1 to 3 of {folder}/young"),
        "replaced": ("SOURCE_TABLE_REPLACED", f"the table {identity}; there is {now} now"),
        "vacuumed": ("SOURCE_FILES_LOST", f"deleted: {gone}"),
    }
    assert {error.exit_code for error in refused.errors} == {3}
    assert all(f"--accept-data-loss {error.dataset}/{error.facts['flow']}'" in error.fix for error in refused.errors)

    most = project.run(accept_data_loss=("plain", "loaded", "shop.cleaned", "begun", "replaced", "vacuumed"))
    assert set(_losses(most)) == {"young"}, "each flow has to be accepted"
    assert project.rows("plain", "id") == project.rows("loaded", "id") == [1, 30]
    assert project.rows("cleaned", "id") == project.rows("begun", "id") == [1, 2, 5, 6]
    assert project.rows("replaced", "id") == [1, 7, 8]
    assert project.rows("vacuumed", "id") == [1, 3]
    noted = [event for event in project.events(most) if event.message.startswith("accept data loss")]
    assert [(event.origin.flow_name, event.details["user_action"]["arguments"]["lost"]) for event in noted][:3] == [
        ("plain", files),
        ("loaded", files),
        ("cleaned", "versions 2 to 3 of the source delta_cleaned"),
    ]

    project.arrive("4", [{"id": 4}])
    for name in _TABLES:
        _append(folder / name, 9)
    rest = project.run(accept_data_loss=("young",))
    assert rest.errors == (), "nothing has to be accepted twice"
    assert project.rows("young", "id") == [1, 6, 9]
    assert project.rows("plain", "id") == [1, 4, 30]
    assert [project.rows(name, "id")[-1] for name in _TABLES] == [9] * 5
