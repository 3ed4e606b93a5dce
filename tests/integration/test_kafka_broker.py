"""The broker harness itself: what the pipeline tests take for granted."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from tests.integration.kafka_broker import KafkaBroker
from tests.processes import accepts_connections, paused, wait_until


@pytest.mark.slow  # test_kafka_sink.py restarts the broker in a run, whose topics and messages stay
def test_messages_survive_a_restart_and_the_process_ends(tmp_path: Path) -> None:
    with KafkaBroker(tmp_path / "kafka") as broker:
        broker.create_topic("orders", partitions=2)
        assert broker.produce("orders", [{"order_id": n} for n in range(100)]) == 100
        first = broker.server.pid
        broker.restart()
        assert not psutil.pid_exists(first)
        assert broker.produce("orders", [b"one more"]) == 1
        values = broker.consume("orders", partitions=2)
        assert b"one more" in values
        assert len(values) == 101
        process = psutil.Process(broker.server.pid)
        with paused(broker.server):
            wait_until(lambda: process.status() == psutil.STATUS_STOPPED, timeout=10, what="the broker to stop")
        assert broker.produce("orders", [b"after the pause"]) == 1
        pid = broker.server.pid
        port = int(broker.address.rpartition(":")[2])
    assert not psutil.pid_exists(pid)
    assert not accepts_connections(port)
