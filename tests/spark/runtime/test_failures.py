"""What goes wrong in a run, what is tried again, and what goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spark.pipeline_project import PipelineProject

from penstock.config import RetrySettings
from penstock.errors import ConfigError, DataError, DefinitionError, PenstockError, StateError
from penstock.events import UpdateState
from penstock.storage import LockOwner, StorageLock

FLOWS = """
@dlt.table
def broken():
    frame = spark.readStream.schema("id LONG").json("in")
    return frame.withColumn("half", F.expr("IF(id = 3, raise_error('no half of three'), id / 2)"))

@dlt.table
def streams_broken():
    return dlt.read_stream("broken")

@dlt.table
def counts_broken():
    return dlt.read("streams_broken").groupBy().count()

@dlt.table
def healthy():
    return spark.readStream.schema("id LONG").json("in")

@dlt.table
def counts_healthy():
    return dlt.read("healthy").groupBy().count()
"""


def test_a_table_whose_creation_was_interrupted_is_created(project: PipelineProject) -> None:
    project.write(FLOWS)
    project.arrive("1", [{"id": 1}, {"id": 2}])
    log = project.path("healthy") / "_delta_log"
    (log / "_staged_commits").mkdir(parents=True)
    (log / ".00000000000000000000.json.1b4e28ba.tmp").write_text("{")
    assert project.run(refresh=("healthy",)).errors == ()
    assert project.rows("healthy", "id") == [1, 2]


def test_a_failing_flow_is_retried_then_fails_and_takes_its_readers_only(project: PipelineProject) -> None:
    project.write(FLOWS)
    project.arrive("1", [{"id": 1}, {"id": 2}])
    assert project.run(refresh=("broken",)).errors == ()
    project.arrive("2", [{"id": 3}])

    failed = project.run()
    assert failed.state is UpdateState.FAILED
    [error] = failed.errors
    assert (error.condition, error.dataset, error.retryable) == ("FLOW_FAILED", "shop.broken", True)
    assert error.facts["flow"] == "broken"
    assert "no half of three" in error.facts["detail"]
    assert project.statuses(failed, "broken") == [
        *["QUEUED", "STARTING", "RUNNING"],
        *["RETRYING", "STARTING", "RUNNING"] * 2,
        "FAILED",
    ]
    assert project.statuses(failed, "streams_broken")[-1] == "SKIPPED"
    assert project.statuses(failed, "counts_broken")[-1] == "SKIPPED"
    assert project.statuses(failed, "healthy")[-1] == "COMPLETED"
    assert project.rows("broken", "id") == [1, 2]
    assert project.rows("counts_healthy", "count") == [3]
    states = [event.details.get("update_progress", {}).get("state") for event in project.events(failed)]
    assert states[-1] == "FAILED"
    [logged] = [
        event
        for event in project.events(failed)
        if event.error and event.level.value == "ERROR" and event.origin.flow_name
    ]
    assert logged.error is not None
    assert logged.error["condition"] == "FLOW_FAILED"

    project.write(FLOWS.replace("IF(id = 3, raise_error('no half of three'), id / 2)", "id / 2"))
    assert project.run(refresh=("broken", "streams_broken", "counts_broken")).errors == ()
    assert project.rows("broken", "id") == project.rows("streams_broken", "id") == [1, 2, 3]
    assert project.rows("counts_broken", "count") == [3]


def test_a_broken_function_at_run_time_and_a_failing_refresh(project: PipelineProject) -> None:
    project.write(
        """
        import pathlib

        calls = []

        @dlt.table
        def second_call():
            calls.append(1)
            if len(calls) > 1:
                raise ValueError("only once, please")
            return spark.range(1)

        @dlt.table
        def refresh():
            return spark.range(3).withColumn("one", F.expr("1 / (id - 1)"))

        @dlt.table
        def reads_refresh():
            return dlt.read("refresh")
        """
    )
    failed = project.run()
    assert failed.state is UpdateState.FAILED
    found = {error.dataset: error for error in failed.errors}
    assert set(found) == {"shop.second_call", "shop.refresh"}
    assert "only once, please" in found["shop.second_call"].facts["detail"]
    assert found["shop.refresh"].condition == "DATA_EXCEPTION"
    assert "DIVIDE_BY_ZERO" in found["shop.refresh"].facts["detail"]
    retried = [event for event in project.events(failed) if event.error and event.origin.flow_name == "refresh"]
    assert len(retried) == 1  # the same values fail at each attempt
    assert project.statuses(failed, "reads_refresh") == ["QUEUED", "SKIPPED"]
    assert project.rows("refresh", "id") == []


def test_a_worker_without_memory_fails_its_flow_and_with_enough_of_it_the_next_run_completes(
    project: PipelineProject,
) -> None:
    project.retries = RetrySettings(max_flow_retries=0)
    little = project.directory / "little"
    project.write(f"""
        import os
        import resource

        @F.udf("long")
        def asks_for_more(number):
            if os.path.exists({str(little)!r}):
                resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
                bytearray(2**31)
            return number

        @F.udf("long")
        def is_killed(number):
            if os.path.exists({str(little)!r}):
                os.kill(os.getpid(), 9)  # what the kernel does when the machine has none left
            return number

        @dlt.table
        def asking():
            return spark.readStream.schema("id LONG").json("in").select(asks_for_more("id").alias("id"))

        @dlt.table
        def killed():
            return spark.readStream.schema("id LONG").json("in").select(is_killed("id").alias("id"))
        """)
    project.arrive("1", [{"id": 1}, {"id": 2}])
    little.touch()
    errors = {error.dataset: error for error in project.run().errors}
    assert {name: error.condition for name, error in errors.items()} == {
        "shop.asking": "FLOW_FAILED",
        "shop.killed": "PYTHON_WORKER_DIED",
    }
    assert "MemoryError" in errors["shop.asking"].facts["detail"]
    little.unlink()
    assert project.run().errors == ()
    assert project.rows("asking", "id") == project.rows("killed", "id") == [1, 2]
    # A driver without memory is gone at once, which is JVM_DIED; nobody goes on with threads that are missing.
    assert "-XX:+ExitOnOutOfMemoryError" in str(project.spark.conf.get("spark.driver.extraJavaOptions"))


def test_an_expectation_that_must_not_fail_commits_nothing(project: PipelineProject) -> None:
    project.write(
        """
        @dlt.table
        @dlt.expect("small", "id < 100")
        @dlt.expect_or_fail("it's \\"known\\"; ✓", "id IS NOT NULL")
        @dlt.expect_all_or_fail({"positive": "id > 0", "odd": "id % 2 = 1"})
        def strict():
            return spark.readStream.schema("id LONG").json("in")

        @dlt.table
        def behind():
            return dlt.read_stream("strict")

        @dlt.table
        @dlt.expect_or_fail("positive", F.col("id") > 0)
        def strict_view():
            return spark.read.schema("id LONG").json("in")
        """
    )
    project.arrive("1", [{"id": 1}, {"id": 3}])
    good = project.run()
    assert good.errors == ()
    assert project.quality(good)["strict", 'it\'s "known"; ✓'] == (2, 0, "fail")
    project.arrive("2", [{"id": 5}, {"id": -2}])
    failed = project.run()
    found = {error.dataset: error for error in failed.errors}
    assert {type(error) for error in failed.errors} == {DataError}
    assert found["shop.strict"].condition == "EXPECTATION_FAILED"
    file = f" of file {project.directory / 'in' / '2.json'}"
    common = {"row": '{"id":-2}', "origin": file}
    assert found["shop.strict"].facts == common | {"name": "shop.strict", "expectations": "'positive', 'odd'"}
    assert found["shop.strict_view"].facts == common | {"name": "shop.strict_view", "expectations": "'positive'"}
    assert project.rows("strict", "id") == project.rows("strict_view", "id") == project.rows("behind", "id") == [1, 3]
    assert project.statuses(failed, "strict").count("RUNNING") == 1, "no use in trying again"
    assert project.statuses(failed, "behind")[-1] == "SKIPPED"
    (project.directory / "in" / "2.json").write_text('{"id": null}\n')
    [error] = project.run(refresh=("strict",)).errors
    assert error.facts["expectations"] == "'it's \"known\"; ✓', 'positive', 'odd'"
    assert '{"id":null}' in error.message
    (project.directory / "in" / "2.json").write_text('{"id": 7}\n')
    assert project.run(refresh=("strict",)).errors == ()
    assert project.rows("strict", "id") == [1, 3, 7]


def test_a_second_run_is_refused_while_the_first_holds_the_storage(project: PipelineProject) -> None:
    project.write("@dlt.table\ndef one():\n    return spark.range(1)\n")
    with StorageLock(project.config.storage, LockOwner.current()), pytest.raises(StateError) as refused:
        project.run()
    assert refused.value.condition == "STORAGE_LOCKED"
    assert refused.value.exit_code == 3
    assert project.events() == []
    assert project.run().errors == ()


def test_a_storage_that_cannot_be_written(project: PipelineProject, tmp_path: Path) -> None:
    project.write("@dlt.table\ndef one():\n    return spark.range(1)\n")
    (tmp_path / "file").write_text("not a folder")
    project.settings["storage"] = "file/lake"
    with pytest.raises(PenstockError) as refused:
        project.run()
    assert refused.value.condition == "STORAGE_NOT_WRITABLE"
    assert str(tmp_path / "file") in refused.value.facts["path"]


def test_a_table_path_that_cannot_be_written(project: PipelineProject, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    project.write(
        """
        @dlt.table(path="file/table")
        def elsewhere():
            return spark.range(1)
        """
    )
    with pytest.raises(ConfigError) as refused:
        project.run()
    assert (refused.value.condition, refused.value.dataset) == ("STORAGE_NOT_WRITABLE", "shop.elsewhere")
    assert refused.value.facts["path"] == str(tmp_path / "file" / "table")
    states = [event.details.get("update_progress", {}).get("state") for event in project.events()]
    assert states[-1] == "FAILED"


def test_a_table_that_delta_refuses(project: PipelineProject) -> None:
    project.write(
        """
        @dlt.table(table_properties={"delta.appendOnly": "perhaps"})
        def refused():
            return spark.range(1)
        """
    )
    with pytest.raises(DefinitionError) as refused:
        project.run()
    assert (refused.value.condition, refused.value.dataset) == ("TABLE_SETUP_FAILED", "shop.refused")
    assert refused.value.facts["name"] == "shop.refused"
    assert refused.value.location is not None
    assert refused.value.location.path == "pipeline.py"


def test_an_invalid_pipeline_writes_events_but_no_table(project: PipelineProject) -> None:
    project.write(
        """
        @dlt.table
        def good():
            return spark.range(1)

        @dlt.table
        def bad():
            return dlt.read("godo")
        """
    )
    with pytest.raises(DefinitionError) as refused:
        project.run()
    assert refused.value.condition == "PIPELINE_INVALID"
    assert not (project.directory / ".penstock" / "tables").exists()
    last = project.events()[-1]
    assert last.details["update_progress"]["state"] == "FAILED"
    assert last.error is not None
