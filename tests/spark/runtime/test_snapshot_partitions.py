from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.spark.session import snapshot_partitions
from penstock.spark.session.snapshot_partitions import SMALL, SNAPSHOT_PARTITIONS

_CODE = """
@dlt.table
def rows():
    return spark.readStream.schema("id LONG").option("maxFilesPerTrigger", 1).json("in")
"""


def test_large_tables_get_more_tasks_unless_the_user_has_chosen(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = PipelineProject(tmp_path, spark)
    project.write(_CODE)
    for number in range(3):
        project.arrive(str(number), [{"id": number}])
    before = spark.conf.get(SNAPSHOT_PARTITIONS)
    try:
        spark.conf.set(SNAPSHOT_PARTITIONS, SMALL)
        project.run()
        monkeypatch.setattr(snapshot_partitions, "_FILES_A_TASK", 2)
        project.settings["spark_conf"] = f"{{{SNAPSHOT_PARTITIONS}: {SMALL}}}"
        project.run()
        assert spark.conf.get(SNAPSHOT_PARTITIONS) == SMALL
        del project.settings["spark_conf"]
        project.run()
        assert spark.conf.get(SNAPSHOT_PARTITIONS) == "2"
    finally:
        spark.conf.set(SNAPSHOT_PARTITIONS, str(before))
    assert project.rows("rows", "id") == [0, 1, 2]
