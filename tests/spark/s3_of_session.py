"""An S3 on loopback that the one session of these tests reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession
from tests.integration.s3_server import S3Server

from penstock.spark._jvm import jvm
from penstock.storage.object_stores.s3 import use_s3_settings


@contextmanager
def s3_of_session(spark: SparkSession, folder: Path) -> Iterator[S3Server]:
    """Runs an S3 inside the block, and has the session and Penstock's own reads use it."""
    with S3Server(folder) as server:
        settings = server.settings(**{"attempts.maximum": "1", "retry.limit": "1"})
        use_s3_settings(lambda: settings)
        hadoop = spark._jsc.hadoopConfiguration()
        for key, value in settings.items():
            hadoop.set(key.removeprefix("spark.hadoop."), value)
        yield server
        for key in settings:
            hadoop.unset(key.removeprefix("spark.hadoop."))
        use_s3_settings(dict)
        # Else a client of a server that is gone would serve a later one.
        jvm(spark).org.apache.hadoop.fs.FileSystem.closeAll()
