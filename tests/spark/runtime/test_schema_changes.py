"""New columns: in the user's query, and in a table that others stream from."""

from __future__ import annotations

import pytest
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import StateError


def test_a_new_column_of_the_query_reaches_the_tables_behind_it(project: PipelineProject) -> None:
    code = """
    @dlt.table
    def bronze():
        return spark.readStream.schema("id LONG").json("in")

    @dlt.table
    def silver():
        return dlt.read_stream("bronze")

    @dlt.table
    def gold():
        return dlt.read("silver")
    """
    project.write(code)
    project.arrive("1", [{"id": 1, "name": "Ann"}])
    assert project.run().errors == ()
    project.arrive("2", [{"id": 2, "name": "Bob"}])
    project.write(code.replace('"id LONG"', '"id LONG, name STRING"'))
    outcome = project.run()
    assert outcome.errors == ()
    for table in ("bronze", "silver", "gold"):
        assert project.rows(table, "id", "name") == [(1, None), (2, "Bob")], table
    assert project.written(outcome) == {"bronze": 1, "silver": 1, "gold": 2}


def test_a_stream_starts_again_when_the_table_that_it_reads_gets_a_column_meanwhile(project: PipelineProject) -> None:
    project.write(
        """
        @dlt.table
        def bronze():
            return (spark.readStream.format("cloudFiles").option("cloudFiles.format", "json")
                .option("cloudFiles.maxFilesPerTrigger", 1).load("in"))

        @dlt.table
        def silver():
            return dlt.read_stream("bronze")

        @dlt.table
        def gold():
            return dlt.read("silver").drop("_rescued_data")
        """
    )
    project.arrive("1", [{"id": 1}])
    assert project.run().errors == ()
    project.arrive("2", [{"id": 2}])
    project.arrive("3", [{"id": 3, "name": "Cem"}])
    project.arrive("4", [{"id": 4, "name": "Dee", "city": "Ulm"}])
    outcome = project.run()
    assert outcome.errors == ()
    people = [("1", None, None), ("2", None, None), ("3", "Cem", None), ("4", "Dee", "Ulm")]
    for table in ("bronze", "silver", "gold"):
        assert project.rows(table, "id", "name", "city") == people, table
    assert project.statuses(outcome, "bronze").count("STARTING") > 1
    assert project.statuses(outcome, "bronze")[-1] == project.statuses(outcome, "silver")[-1] == "COMPLETED"


def test_a_changed_type_is_refused_and_what_was_stored_stays(project: PipelineProject) -> None:
    code = """
    @dlt.table
    def bronze():
        return spark.readStream.schema("id LONG").json("in")
    """
    project.write(code)
    project.arrive("1", [{"id": 1}])
    assert project.run().errors == ()
    project.arrive("2", [{"id": 2}])
    project.write(code.replace("id LONG", "id STRUCT<a: INT>"))
    with pytest.raises(StateError) as refused:
        project.run()
    error = refused.value
    assert (error.condition, error.facts["name"], error.exit_code) == ("COLUMN_TYPE_CHANGED", "shop.bronze", 3)
    assert project.rows("bronze", "id") == [1]
