"""An object store on loopback that the one session of these tests reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession
from tests.integration.store_server import StoreServer, store_server, used_by_this_process

from penstock.spark._jvm import jvm

_FEW_RETRIES = {"s3": {"attempts.maximum": "1", "retry.limit": "1"}, "azure": {}, "gcs": {"http.max.retry": "1"}}


@contextmanager
def store_of_session(spark: SparkSession, kind: str, folder: Path) -> Iterator[StoreServer]:
    """Runs a server inside the block, and has the session and Penstock's own reads use it."""
    with store_server(kind, folder) as server, used_by_this_process(server, **_FEW_RETRIES[kind]):
        settings = server.settings(**_FEW_RETRIES[kind])
        hadoop = spark._jsc.hadoopConfiguration()
        for key, value in settings.items():
            hadoop.set(key.removeprefix("spark.hadoop."), value)
        yield server
        for key in settings:
            hadoop.unset(key.removeprefix("spark.hadoop."))
        # Else a client of a server that is gone would serve a later one.
        jvm(spark).org.apache.hadoop.fs.FileSystem.closeAll()
