"""Checkpoints and tables that changed between two runs."""

from __future__ import annotations

import shutil

import pytest
from deltalake import DeltaTable
from tests.spark.pipeline_project import PipelineProject

READ = 'spark.readStream.schema("id LONG").json("{}")'


def test_sources_can_be_added_moved_and_removed(project: PipelineProject) -> None:
    def write(*folders: str) -> None:
        query = " .union(".join(READ.format(folder) for folder in folders) + ")" * (len(folders) - 1)
        project.write(f"@dlt.table\ndef merged():\n    return {query}\n")

    project.arrive("1", [{"id": 1}], folder="north")
    write("north")
    assert project.run().errors == ()
    project.arrive("1", [{"id": 2}], folder="south")
    project.arrive("2", [{"id": 3}], folder="north")
    write("south", "north")
    assert project.run().errors == ()
    assert project.rows("merged", "id") == [1, 2, 3]
    project.arrive("2", [{"id": 4}], folder="south")
    project.arrive("3", [{"id": 5}], folder="north")
    write("north", "south")
    assert project.run().errors == ()
    assert project.rows("merged", "id") == [1, 2, 3, 4, 5]
    project.arrive("4", [{"id": 6}], folder="north")
    write("north")
    assert project.run().errors == ()
    assert project.rows("merged", "id") == [1, 2, 3, 4, 5, 6]


def test_a_changed_state_is_refused_with_the_way_out(project: PipelineProject) -> None:
    code = """
    @dlt.table
    def totals():
        return spark.readStream.schema("id LONG, kind STRING").json("in").groupBy("kind").count()
    """
    project.write(code)
    project.arrive("1", [{"id": 1, "kind": "a"}])
    assert project.run().errors == ()
    project.arrive("2", [{"id": 2, "kind": "a"}])
    project.write(code.replace('groupBy("kind")', 'groupBy("id", "kind")'))
    # A version that noted nothing ran it, so the plan cannot tell, and Spark does.
    (project.directory / ".penstock/checkpoints/shop/totals/totals/0/penstock.json").unlink()
    [error] = project.run().errors
    assert (error.condition, error.exit_code) == ("CHECKPOINT_INCOMPATIBLE", 3)
    assert (error.facts["flow"], error.facts["name"]) == ("totals", "shop.totals")
    assert project.rows("totals", "kind", "count") == [("a", 1)]
    assert project.run(full_refresh=("totals",)).errors == ()
    assert project.rows("totals", "id", "kind", "count") == [(1, "a", 1), (2, "a", 1)]


def test_a_table_deleted_by_hand_is_computed_again(project: PipelineProject) -> None:
    project.write(f"@dlt.table\ndef orders():\n    return {READ.format('in')}\n")
    project.arrive("1", [{"id": 1}])
    assert project.run().errors == ()
    shutil.rmtree(project.path("orders"))
    project.arrive("2", [{"id": 2}])
    assert project.run().errors == ()
    assert project.rows("orders", "id") == [1, 2]


@pytest.mark.slow  # test_delta_source.py has both flows; a full refresh as the way out is in the tests above
def test_deleted_rows_of_a_streamed_table_are_refused_with_the_way_out(project: PipelineProject) -> None:
    code = f"""
    @dlt.table
    def orders():
        return {READ.format("in")}

    @dlt.table
    def copy():
        return dlt.read_stream("orders")

    @dlt.table
    def tolerant():
        return spark.readStream.option("skipChangeCommits", "true").table("orders")
    """
    project.write(code)
    project.arrive("1", [{"id": 1}, {"id": 2}])
    assert project.run().errors == ()
    DeltaTable(project.path("orders")).delete("id = 1")
    project.arrive("2", [{"id": 3}])
    failed = project.run()
    [error] = failed.errors
    assert (error.condition, error.exit_code) == ("SOURCE_ROWS_CHANGED", 3)
    assert (error.facts["flow"], error.facts["name"]) == ("copy", "shop.copy")
    assert project.statuses(failed, "copy").count("RUNNING") == 1, "no use in trying again"
    assert project.rows("tolerant", "id") == [1, 2, 3]
    assert project.run(full_refresh=("copy",)).errors == ()
    assert project.rows("copy", "id") == [2, 3]


def test_a_python_function_that_fails_says_what_it_raised(project: PipelineProject) -> None:
    project.arrive("1", [{"id": 1}])
    project.write(
        """
        @F.udf("long")
        def picky(number):
            raise ValueError("I do not like " + str(number))

        @dlt.table
        def streamed():
            return spark.readStream.schema("id LONG").json("in").select(picky("id").alias("n"))

        @dlt.table
        def refreshed():
            return spark.range(7, 8).select(picky("id").alias("n"))
        """
    )
    details = {error.dataset: error.facts["detail"] for error in project.run().errors}
    assert "ValueError: I do not like 1" in details["shop.streamed"]
    assert "ValueError: I do not like 7" in details["shop.refreshed"]
