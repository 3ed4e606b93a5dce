"""Scripts run on the one session of these tests, as it is with sources that have no names."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.integration.kafka_broker import KafkaBroker
from tests.integration.s3_server import S3Server
from tests.spark.script.guide_data import EVENTS, ORDERS
from tests.spark.script.script_project import ScriptProject

from penstock.runtime.script.session import LIKE_SPARK
from penstock.spark.session.query_settings import query_settings


@pytest.fixture
def app(spark: SparkSession, tmp_path: Path) -> Iterator[ScriptProject]:
    """An empty folder for scripts."""
    with query_settings(spark, LIKE_SPARK):
        yield ScriptProject(tmp_path, spark)


_buckets = count(1)


@pytest.fixture
def bucket(s3: S3Server) -> str:
    """The name of an empty bucket of its own for each test."""
    name = f"bucket-{next(_buckets)}"
    s3.bucket(name)
    return name


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker with the events and orders of the guides."""
    with KafkaBroker(tmp_path_factory.mktemp("kafka")) as broker:
        for topic in ("events", "enrichment", "orders_topic", "enriched-events"):
            broker.create_topic(topic)
        broker.produce("events", [{**event, "event_time": event["timestamp"]} for event in EVENTS])
        broker.produce("enrichment", EVENTS[:2])
        broker.produce("orders_topic", ORDERS)
        yield broker
