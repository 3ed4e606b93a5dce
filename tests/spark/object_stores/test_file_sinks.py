"""Sinks of files in S3: each row once for a reader that knows the folder's log, also after a crash."""

from __future__ import annotations

from pyspark.sql import SparkSession
from tests.integration.s3_server import S3Server
from tests.spark.pipeline_project import PipelineProject

from penstock.testing.crash import forget_newest_commits

_FORMATS = ("parquet", "json", "csv")
_COLUMNS = "id INT, name STRING"


def test_each_row_is_in_the_files_once(project: PipelineProject, s3: S3Server, spark: SparkSession) -> None:
    place = s3.bucket("files")
    project.write(f"""
        for name in {_FORMATS!r}:
            ps.create_sink(name, name, {{"path": "{place}/" + name, "header": "true", "partitionBy": "day"}})

            @ps.append_flow(target=name, name=f"to_{{name}}")
            def flow():
                return spark.readStream.schema("{_COLUMNS}, day STRING").json("in")
        """)
    project.arrive("a", [{"id": 1, "name": "a,b", "day": "mon"}, {"id": 2, "day": "tue"}])
    assert project.run().errors == ()
    # Two of them died after the folder's log had the batch, one before.
    checkpoints = [str(path.parent) for path in (project.directory / ".penstock/checkpoints").rglob("commits")]
    assert len(checkpoints) == len(_FORMATS)
    forget_newest_commits(dict.fromkeys(checkpoints))
    s3.client.delete_object(Bucket="files", Key="json/_spark_metadata/0")
    project.arrive("b", [{"id": 3, "name": "c", "day": "mon"}])
    assert project.run().errors == ()
    for name in _FORMATS:
        read = spark.read.format(name).schema(f"{_COLUMNS}, day STRING").option("header", "true")
        rows = [tuple(row) for row in read.load(f"{place}/{name}").orderBy("id").collect()]
        assert rows == [(1, "a,b", "mon"), (2, None, "tue"), (3, "c", "mon")], name
    lying = [key for key in s3.keys("files") if key.startswith("json/day=mon/") and key.endswith(".json")]
    assert len(lying) == 3, "the file of the batch that was cut off lies there, and nobody reads it"
