"""The schema that Auto Loader infers is kept once the whole pipeline is valid, and not before."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import PipelineInvalid

PIPELINE = """
@dlt.table
def orders():
    reader = spark.readStream.format("cloudFiles").option("cloudFiles.format", "json")
    return reader.option("cloudFiles.inferColumnTypes", "true").load("in")

@dlt.table
def days():
    return spark.readStream.table("orders").select(F.col("at").getField("day").alias("day"))
"""


def _schemas(project: PipelineProject) -> list[Path]:
    return sorted((project.directory / ".penstock").glob("schemas/**/_schemas/*"))


def test_an_invalid_pipeline_leaves_no_schema_behind(project: PipelineProject) -> None:
    project.write(PIPELINE)
    project.arrive("1", [{"at": 1}])
    with pytest.raises(PipelineInvalid):
        project.run()
    assert _schemas(project) == []
    (project.directory / "in" / "1.json").unlink()
    project.arrive("2", [{"at": {"day": "2026-11-29"}}])
    project.run()
    assert project.rows("days", "day") == ["2026-11-29"]
    assert len(_schemas(project)) == 1
