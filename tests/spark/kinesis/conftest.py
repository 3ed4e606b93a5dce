"""A Kinesis on loopback for pipelines on the one session of these tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.integration.kinesis_server import KinesisServer


@pytest.fixture(scope="session")
def kinesis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KinesisServer]:
    """A running Kinesis; each test uses streams of its own."""
    with KinesisServer(tmp_path_factory.mktemp("kinesis")) as server:
        yield server
