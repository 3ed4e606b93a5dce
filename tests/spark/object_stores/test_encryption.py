"""What Spark and Penstock write for a pipeline whose storage is in S3 is encrypted by the store as the settings say."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession
from tests.integration.s3_server import S3Server
from tests.integration.test_s3_encryption import KEY, SEALED, heads
from tests.spark.pipeline_project import PipelineProject

from penstock.storage.stores.settings import use_store_settings

BUCKET = "sealed-by-spark"
SETTINGS = {
    f"fs.s3a.bucket.{BUCKET}.encryption.algorithm": "SSE-KMS",
    f"fs.s3a.bucket.{BUCKET}.encryption.key": KEY,
}


def test_every_object_of_a_pipeline_has_the_key(project: PipelineProject, s3: S3Server, spark: SparkSession) -> None:
    hadoop = spark._jsc.hadoopConfiguration()
    for key, value in SETTINGS.items():
        hadoop.set(key, value)
    settings = s3.settings() | {f"spark.hadoop.{key}": value for key, value in SETTINGS.items()}
    storage = s3.bucket(BUCKET) + "/storage"
    project.settings |= {"spark_conf": json.dumps(settings), "storage": storage}
    project.write("""
        @dlt.table
        def orders():
            return spark.readStream.schema("id LONG").json("in")

        @dlt.table
        def total():
            return spark.read.table("orders").agg(F.count("*").alias("rows"))
    """)
    project.arrive("1", [{"id": 1}, {"id": 2}])
    use_store_settings(lambda: settings)  # as the command does, for Penstock's own clients
    try:
        assert project.run().errors == ()
    finally:
        use_store_settings(s3.settings)
        for key in SETTINGS:
            hadoop.unset(key)
    found = {key: head for key, head in heads(s3, BUCKET).items() if not key.endswith("/")}
    for part in ("tables/shop/orders/_delta_log/", "checkpoints/shop/orders/orders/", "events/"):
        assert any(part in key for key in found), part
    assert any(key.endswith(".parquet") for key in found)
    assert {key for key, head in found.items() if head != SEALED} == set()
