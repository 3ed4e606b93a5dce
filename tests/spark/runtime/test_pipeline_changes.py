"""Running a pipeline again after its declarations have changed."""

from __future__ import annotations

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import StateError
from penstock.observe.status.pipeline_status import project_status
from penstock.plan.selection import RefreshSelection
from penstock.plan.stages import AlterTable, ResetTable
from penstock.runtime import plan_update

BEFORE = """
@dlt.table(comment="first", partition_cols=["kind"], table_properties={"delta.enableTypeWidening": "true"})
@dlt.expect_or_quarantine("positive", "id > 0")
def orders():
    return spark.readStream.schema("id INT, kind STRING, note STRING").json("in")

@dlt.table(comment="goes", cluster_by=["id"])
def plain():
    return spark.readStream.schema("id INT, note STRING").json("in")

@dlt.table
def kinds():
    return dlt.read("orders").select("kind")

@dlt.table
@dlt.expect_or_quarantine("few", "id < 9")
def gone():
    return spark.range(2)
"""
AFTER = """
@dlt.table(comment="it's second", partition_cols=["kind"],
    table_properties={"delta.enableTypeWidening": "true", "quality": "gold"})
@dlt.expect_or_quarantine("positive", "id > 0")
def orders():
    frame = spark.readStream.schema("id LONG, kind STRING, `odd name` STRUCT<a: INT>").json("in")
    return frame.withColumnRenamed("odd name", "extra")

@dlt.table(cluster_by=["note", "id"], schema="id INT COMMENT 'the number', note STRING, at DATE COMMENT 'it''s new'")
def plain():
    return spark.readStream.schema("id INT, note STRING").json("in")

@dlt.table(partition_cols=["kind"])
def kinds():
    return dlt.read("orders").select("kind", F.col("id").cast("string").alias("id"))
"""


def _conditions(project: PipelineProject) -> set[str]:
    plan = plan_update(project.config, RefreshSelection(), spark=project.spark).plan
    return {warning.condition for warning in plan.warnings}


@pytest.mark.slow
def test_what_changes_without_computing_a_table_again(project: PipelineProject, spark: SparkSession) -> None:
    project.arrive("1", [{"id": 1, "kind": "a", "note": "x"}, {"id": -1, "kind": "a", "note": "y"}])
    project.write(BEFORE)
    assert project.run().errors == ()
    project.write(AFTER)
    project.arrive("2", [{"id": n, "kind": "b", "odd name": {"a": 1}} for n in (2**40, -(2**40))])
    assert _conditions(project) == {"COLUMN_NO_LONGER_FILLED", "DATASET_NOT_DECLARED"}
    outcome = project.run()
    assert [str(error) for error in outcome.errors] == []

    orders = spark.read.format("delta").load(str(project.path("orders"))).orderBy("id")
    assert [row.asDict(recursive=True) for row in orders.collect()] == [
        {"id": 1, "kind": "a", "note": "x", "extra": None},
        {"id": 2**40, "kind": "b", "note": None, "extra": {"a": 1}},
    ]
    aside = spark.read.format("delta").load(str(project.path("orders__quarantine"))).orderBy("id")
    assert [(row.id, row.note, row.extra and row.extra.a) for row in aside.collect()] == [
        (-(2**40), None, 1),
        (-1, "y", None),
    ]
    metadata = DeltaTable(project.path("orders")).metadata()
    assert (metadata.description, metadata.configuration["quality"]) == ("it's second", "gold")
    plain = DeltaTable(project.path("plain"))
    assert not plain.metadata().description
    fields = {field.name: field.metadata.get("comment") for field in plain.schema().fields}
    assert fields == {"id": "the number", "note": None, "at": "it's new"}
    detail = spark.sql(f"DESCRIBE DETAIL delta.`{project.path('plain')}`").first()
    assert detail is not None
    assert detail["clusteringColumns"] == ["note", "id"]
    assert DeltaTable(project.path("kinds")).metadata().partition_columns == ["kind"]
    assert project.rows("kinds", "kind", "id") == [("a", "1"), ("b", str(2**40))]
    assert project_status(project.events()).undeclared == ("shop.gone",)
    assert project.rows("gone", "id") == [0, 1]

    left = plan_update(project.config, RefreshSelection(), spark=spark).plan
    assert not left.of_type(AlterTable), "nothing is left to be changed"
    assert not left.of_type(ResetTable)

    project.write(AFTER.replace('partition_cols=["kind"],', ""))
    with pytest.raises(StateError) as moved:
        project.run()
    assert (moved.value.condition, moved.value.facts["stored"]) == ("PARTITIONING_CHANGED", "kind")
    assert project.run(full_refresh=("orders",)).errors == ()
    assert DeltaTable(project.path("orders")).metadata().partition_columns == []
    assert {field.name for field in DeltaTable(project.path("orders")).schema().fields} == {"id", "kind", "extra"}
