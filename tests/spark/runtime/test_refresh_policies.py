"""What `refresh_policy` and `REFRESH POLICY` ask for, and what happens where that cannot be kept."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.events import Event, EventType
from penstock.events.flows.refresh import refresh_choice_of
from penstock.runtime import UpdateOutcome
from penstock.spark.accelerators.accelerator import TABLE_CHANGES

IMPOSSIBLE = """
@dlt.table
def orders():
    return spark.readStream.schema("id LONG, kind STRING").json("in")

@dlt.table(refresh_policy="incremental")
def first():
    return dlt.read("orders").orderBy("id").limit(1)

@dlt.table(refresh_policy="incremental_strict")
@dlt.expect_or_quarantine("kind", "kind IS NOT NULL")
def kept():
    return dlt.read("orders")
"""
STRICT = "CREATE MATERIALIZED VIEW of_outside REFRESH POLICY INCREMENTAL STRICT AS SELECT id FROM delta.`{outside}`"


def _files(table: str) -> list[dict[str, Any]]:
    return pa.table(DeltaTable(table).get_add_actions()).to_pylist()


def _choices(project: PipelineProject, update: UpdateOutcome) -> list[Event]:
    planned = [each for each in project.events(update) if each.event_type is EventType.PLANNING_INFORMATION]
    return [each for each in planned if "technique_information" in each.details["planning_information"]]


def test_a_policy_that_a_query_cannot_keep_is_refused(project: PipelineProject) -> None:
    project.arrive("1", [{"id": 1, "kind": "a"}])
    project.write(IMPOSSIBLE)
    found = {str(error.facts["name"]).rpartition(".")[2]: error for error in project.validate().errors}
    assert {error.condition for error in found.values()} == {"MATERIALIZED_VIEW_NOT_INCREMENTAL"}
    assert found["first"].facts["reason"] == "its query has LIMIT"
    assert found["kept"].facts["reason"] == "its expectations quarantine rows"
    assert str(found["first"].location).endswith("pipeline.py:11")


def test_a_strict_view_fails_where_it_would_have_to_be_computed_in_full(
    project: PipelineProject, spark: SparkSession
) -> None:
    if not TABLE_CHANGES.applies():
        pytest.skip("all views are computed in full without this accelerator")
    outside = str(project.directory / "outside")
    spark.range(3).write.format("delta").save(outside)
    project.write("")
    (project.directory / "views.sql").write_text(STRICT.format(outside=outside))
    assert project.run().errors == ()
    spark.range(3, 5).write.format("delta").mode("append").save(outside)
    update = project.run()
    assert update.errors == ()
    [choice] = _choices(project, update)
    techniques = choice.details["planning_information"]["technique_information"]
    assert [each["maintenance_type"] for each in techniques if each["is_chosen"]] == ["MAINTENANCE_TYPE_APPEND_ONLY"]
    assert "append rows" in choice.message
    added = sum(each["size_bytes"] for each in _files(outside) if each["min"]["id"] >= 3)
    told = refresh_choice_of(choice)
    assert told is not None
    assert (told.bytes_read, told.bytes_in_full) == (added, sum(each["size_bytes"] for each in _files(outside)))

    spark.range(9).write.format("delta").mode("overwrite").save(str(project.directory / "other"))
    (project.directory / "outside").rename(project.directory / "gone")
    (project.directory / "other").rename(project.directory / "outside")
    [error] = project.run().errors
    assert error.condition == "INCREMENTAL_REFRESH_IMPOSSIBLE"
    assert "is not the table of the last refresh" in error.facts["reason"]
    assert project.rows("of_outside", "id") == [0, 1, 2, 3, 4], "what was committed stays"
    assert project.run(full_refresh=("of_outside",)).errors == ()
    assert len(project.rows("of_outside", "id")) == 9
