"""An S3 on loopback for pipelines on the one session of these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from tests.integration.s3_server import S3Server
from tests.spark.s3_of_session import s3_of_session


@pytest.fixture(scope="package")
def s3(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A running S3, which the session reads under its settings; each test uses buckets of its own."""
    with s3_of_session(spark, tmp_path_factory.mktemp("s3")) as server:
        yield server
