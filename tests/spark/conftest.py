"""The one Spark session of a test process, started as Penstock starts it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.integration.s3_server import S3Server
from tests.integration.store_server import EACH_STORE, STORES, StoreServer
from tests.spark.pipeline_project import PipelineProject
from tests.spark.session_settings import CHOSEN
from tests.spark.store_of_session import store_of_session

from penstock.spark._jvm import jvm
from penstock.spark.session.launch import SessionConfig
from penstock.spark.session.session import start_session, stop_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session with Delta and Kafka, 2 GB of heap and two shuffle partitions."""
    session = start_session(SessionConfig(name="tests", master="local[2]", spark_conf=CHOSEN, jar_sets=STORES))
    yield session
    stop_session(session)


@pytest.fixture
def project(spark: SparkSession, tmp_path: Path) -> Iterator[PipelineProject]:
    """An empty pipeline project in a folder of its own."""
    yield PipelineProject(tmp_path, spark)
    # Delta keeps the state of each table that it has seen for an hour: hundreds, and no heap left for the last tests.
    jvm(spark).org.apache.spark.sql.delta.DeltaLog.clearCache()


@pytest.fixture(scope="module")
def s3(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A running S3, which the session reads under its settings while the tests of a file run: one at a time."""
    with store_of_session(spark, "s3", tmp_path_factory.mktemp("s3")) as server:
        assert isinstance(server, S3Server)
        yield server


@pytest.fixture(scope="module", params=EACH_STORE)
def store(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StoreServer]:
    """As `s3`, for one kind of store after the other."""
    with store_of_session(spark, request.param, tmp_path_factory.mktemp("store")) as server:
        yield server
