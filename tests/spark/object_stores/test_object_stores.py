"""Pipelines whose sources and sinks are in S3, with an S3 on loopback."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.certificates import Authority
from tests.integration.s3_server import S3Server
from tests.integration.tls_front import TlsFront
from tests.spark.pipeline_project import PipelineProject

from penstock.errors import PenstockError


def test_what_is_wrong_is_named(project: PipelineProject, s3: S3Server) -> None:
    s3.bucket("closed")
    project.write("""
        @dlt.table
        def loaded():
            return spark.readStream.format("cloudFiles").option("cloudFiles.format", "json").load("s3a://closed/in")

        @dlt.table
        def read():
            return spark.read.schema("id INT").json("s3://closed/in")

        @dlt.table
        def unknown():
            return spark.read.schema("id INT").json("s3a://no-such-bucket/in")

        @dlt.table
        def elsewhere():
            return spark.read.schema("id INT").json("wasbs://lake@shop.blob.core.windows.net/in")
        """)
    with s3.checking_credentials():
        errors = {str(error.dataset).removeprefix("shop."): error for error in project.validate().errors}
    assert {name: error.condition for name, error in errors.items()} == {
        "loaded": "OBJECT_STORE_ACCESS_DENIED",
        "read": "OBJECT_STORE_ACCESS_DENIED",
        "unknown": "OBJECT_STORE_ACCESS_DENIED",
        "elsewhere": "QUERY_ANALYSIS_FAILED",
    }
    assert "abfs(s)" in str(errors["elsewhere"].facts["detail"]), "wasbs:// is Azure's former scheme"
    assert "s3a://closed" in str(errors["loaded"].facts["detail"])
    assert all(error.location is not None and error.location.line for error in errors.values())
    errors = {str(error.dataset).removeprefix("shop."): error for error in project.validate().errors}
    assert (errors["loaded"].condition, errors["read"].condition) == ("PATH_NOT_FOUND", "PATH_NOT_FOUND")
    assert errors["unknown"].condition == "OBJECT_STORE_BUCKET_NOT_FOUND"


def test_a_certificate_that_nobody_trusts_is_named(
    project: PipelineProject, s3: S3Server, spark: SparkSession, tmp_path: Path
) -> None:
    hadoop = spark._jsc.hadoopConfiguration()
    s3.bucket("sealed-by-a-stranger")
    project.write("""
        @dlt.table
        def orders():
            return spark.read.schema("id INT").json("s3a://sealed-by-a-stranger/in")
        """)
    with TlsFront(Authority(tmp_path).sign("localhost", "IP:127.0.0.1"), s3.port) as front:
        hadoop.set("fs.s3a.bucket.sealed-by-a-stranger.endpoint", front.endpoint)
        [error] = project.validate().errors
        hadoop.unset("fs.s3a.bucket.sealed-by-a-stranger.endpoint")
    assert error.condition == "OBJECT_STORE_TLS_FAILED"
    assert "certification path" in error.message


@pytest.mark.parametrize(
    ("path", "condition"),
    [
        ("/mnt/other/orders", "TABLE_ON_OBJECT_STORE"),
        # Slow: without an alias, which is looked up before.
        pytest.param("oss://lake/orders", "TABLE_ON_OBJECT_STORE", marks=pytest.mark.slow),
        ("/mnt/lake/", "TABLE_PATH_UNSUPPORTED"),
        ("s3://lake/a%20b", "TABLE_PATH_UNSUPPORTED"),
        ("abfss://lake@shop.dfs.core.windows.net/", "TABLE_PATH_UNSUPPORTED"),
        ("gs://lake/a%20b", "TABLE_PATH_UNSUPPORTED"),
        ("s3://lake/paid/", "DUPLICATE_TABLE_PATH"),
    ],
)
def test_a_path_that_no_table_can_have_is_refused(project: PipelineProject, path: str, condition: str) -> None:
    project.settings["paths"] = "{/mnt/lake: s3a://lake, /mnt/other: 'oss://lake'}"
    project.write(f"""
        @dlt.table(path="/mnt/lake/paid")
        def paid():
            return spark.range(3)

        @dlt.table(path="{path}")
        def orders():
            return spark.range(3)
        """)
    with pytest.raises(PenstockError) as caught:
        project.run()
    [error] = getattr(caught.value, "errors", [caught.value])
    assert error.condition == condition
    assert error.dataset in {"shop.orders", "shop.paid"}
    assert error.location is not None
    assert error.location.line


def test_a_file_that_an_interrupted_batch_still_needs_stops_the_flow_when_it_is_gone(
    project: PipelineProject, s3: S3Server
) -> None:
    s3.bucket("changed")
    s3.put("changed", "in/1.json", [{"id": 1}])
    project.write("""
        @dlt.table
        def orders():
            return spark.readStream.format("cloudFiles").option("cloudFiles.format", "json").load("s3a://changed/in")
        """)
    assert project.run().errors == ()
    s3.put("changed", "in/2.json", [{"id": 2}])
    (checkpoint,) = (path.parent for path in (project.directory / ".penstock/checkpoints").rglob("commits"))
    assert project.run().errors == ()
    assert project.rows("orders", "id") == ["1", "2"]
    (checkpoint / "commits/1").unlink()
    (checkpoint / "commits/.1.crc").unlink(missing_ok=True)
    table = project.path("orders") / "_delta_log"
    newest = max(file for file in table.iterdir() if file.name.endswith(".json"))
    for file in (newest, newest.with_suffix(".crc"), table / f".{newest.name}.crc"):
        file.unlink(missing_ok=True)  # the batch died before its commit
    s3.client.delete_object(Bucket="changed", Key="in/2.json")
    [error] = project.run().errors
    assert error.condition == "SOURCE_FILES_LOST"
    assert error.facts["lost"] == "deleted: s3a://changed/in/2.json"


def test_what_is_written_is_encrypted_as_the_settings_say(spark: SparkSession, s3: S3Server) -> None:
    key = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
    hadoop = spark._jsc.hadoopConfiguration()
    for bucket, settings, expected in (
        ("sse-s3", {"algorithm": "AES256"}, ("AES256", None)),
        ("sse-kms", {"algorithm": "SSE-KMS", "key": key}, ("aws:kms", key)),
    ):
        place = s3.bucket(bucket)
        for name, value in settings.items():
            hadoop.set(f"fs.s3a.bucket.{bucket}.encryption.{name}", value)
        spark.range(1).write.format("delta").save(f"{place}/orders")
        heads = [s3.client.head_object(Bucket=bucket, Key=each) for each in s3.keys(bucket) if not each.endswith("/")]
        assert {(head["ServerSideEncryption"], head.get("SSEKMSKeyId")) for head in heads} == {expected}
