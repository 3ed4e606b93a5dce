"""The servers that several integration tests share: started once, on loopback, and stopped at the end."""

from __future__ import annotations

from collections.abc import Iterator

import psutil
import pytest
from tests.integration.hdfs_server import HdfsServer
from tests.integration.kafka_broker import KafkaBroker
from tests.integration.kafka_security import BrokerSecurity
from tests.integration.kinesis_server import KinesisServer
from tests.integration.spark_standalone import SparkStandalone
from tests.short_lived_jvms import start_them_quickly

start_them_quickly()


@pytest.fixture(scope="session")
def kafka(secured: tuple[KafkaBroker, BrokerSecurity]) -> KafkaBroker:
    """A running broker; each test uses a topic of its own and leaves the broker up."""
    return secured[0]


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KafkaBroker, BrokerSecurity]]:
    """The same broker, with listeners that ask for TLS and logins, and the rules by which it lets clients in."""
    rules = BrokerSecurity(tmp_path_factory.mktemp("security"))
    with KafkaBroker(tmp_path_factory.mktemp("kafka"), rules) as broker:
        yield broker, rules


@pytest.fixture(scope="session")
def kinesis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KinesisServer]:
    """A running Kinesis; each test uses streams of its own."""
    with KinesisServer(tmp_path_factory.mktemp("kinesis")) as server:
        yield server


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsServer]:
    """A running HDFS; each module uses folders of its own."""
    with HdfsServer(tmp_path_factory.mktemp("hdfs")) as server:
        yield server


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkStandalone]:
    """A running Spark cluster of two workers; each test is an application of its own."""
    with SparkStandalone(tmp_path_factory.mktemp("spark") / "cluster") as running:
        pids = running.pids
        yield running
    assert not any(psutil.pid_exists(pid) for pid in pids), "the cluster of the tests leaves nothing behind"
