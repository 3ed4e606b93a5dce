"""The one Spark session of a test process, started as Penstock starts it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.pipeline_project import PipelineProject

from penstock.spark.session import SessionConfig, start_session, stop_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session with Delta and Kafka, 1 GB of heap and two shuffle partitions."""
    conf = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}
    session = start_session(SessionConfig(name="tests", master="local[2]", spark_conf=conf))
    yield session
    stop_session(session)


@pytest.fixture
def project(spark: SparkSession, tmp_path: Path) -> PipelineProject:
    """An empty pipeline project in a folder of its own."""
    return PipelineProject(tmp_path, spark)
