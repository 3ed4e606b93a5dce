"""An S3 on loopback for pipelines on the one session of these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from tests.integration.s3_server import S3Server

from penstock.spark._jvm import jvm
from penstock.storage.s3 import use_s3_settings


@pytest.fixture(scope="package")
def s3(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A running S3, which the session reads under its settings; each test uses buckets of its own."""
    with S3Server(tmp_path_factory.mktemp("s3")) as server:
        settings = server.settings(**{"attempts.maximum": "1", "retry.limit": "1"})
        use_s3_settings(settings)
        hadoop = spark._jsc.hadoopConfiguration()
        for key, value in settings.items():
            hadoop.set(key.removeprefix("spark.hadoop."), value)
        yield server
        for key in settings:
            hadoop.unset(key.removeprefix("spark.hadoop."))
        use_s3_settings({})
        # Else a client of a server that is gone would serve a later one.
        jvm(spark).org.apache.hadoop.fs.FileSystem.closeAll()
