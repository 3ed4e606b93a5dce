"""A Kafka broker hangs, dies, and is away for a while: a continuous run goes on, and each message counts once."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli_runner import penstock, running
from tests.integration.kafka_broker import KafkaBroker
from tests.oracle.tables import read_table, stored
from tests.processes import paused

_PIPELINE = """
import dlt

SERVERS = {"kafka.bootstrap.servers": spark.conf.get("broker")}
dlt.create_sink("copies", "kafka", {**SERVERS, "topic": "out"})


@dlt.table
def orders():
    read = spark.readStream.format("kafka").options(**SERVERS, subscribe="in", startingOffsets="earliest").load()
    return read.selectExpr("CAST(CAST(value AS STRING) AS INT) AS id")


@dlt.append_flow(target="copies")
def copy():
    return dlt.read_stream("orders").selectExpr("CAST(id AS STRING) AS value")


@dlt.table
def others():
    return spark.readStream.schema("id INT").json("in")
"""
_SETTINGS = "name: outage\nschema: shop\n"
_QUICK = "retries: {first_delay: 1 second, longest_delay: 2 seconds}\n"
_HANGS_SECONDS = 8.0
_NOTICED_SECONDS = 420.0
"""Spark's own client tries for minutes before it tells that the broker is away."""
_AWAY_SECONDS = 20.0
"""From then on; a flow that is tried again twice has given up after four seconds."""
_STOP_SECONDS = 10.0


@pytest.fixture
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    with KafkaBroker(tmp_path_factory.mktemp("kafka")) as broker:
        for topic in ("in", "out"):
            broker.create_topic(topic)
        yield broker


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_run_outlives_its_broker(tmp_path: Path, kafka: KafkaBroker) -> None:
    (tmp_path / "penstock.yml").write_text(_SETTINGS + _QUICK)
    (tmp_path / "pipeline.py").write_text(_PIPELINE)
    (tmp_path / "in").mkdir()
    options = ("--set", f"broker={kafka.address}")
    sent = 0

    def send() -> None:
        nonlocal sent
        sent += kafka.produce("in", [str(number) for number in range(sent, sent + 10)])

    def rows(table: str = "orders") -> list[int]:
        path = stored(tmp_path / ".penstock", "shop", table)
        return sorted(row["id"] for row in read_table(path)) if list((path / "_delta_log").glob("*.json")) else []

    def copies() -> set[int]:
        return {int(value) for value in kafka.consume("out")}

    def waits() -> dict[str, Any] | None:
        datasets = penstock("status", tmp_path, "--json").document["datasets"]
        [found] = [each for each in datasets if each["name"] == "shop.orders"]
        return found if found["status"] == "RETRYING" else None

    send()
    with running("run", tmp_path, "--continuous", *options) as command:

        def all_there() -> None:
            command.wait_for(lambda: rows() == list(range(sent)), what=f"{sent} rows")
            command.wait_for(lambda: copies() == set(range(sent)), what=f"{sent} copies")

        all_there()
        with paused(kafka.server):
            time.sleep(_HANGS_SECONDS)
        send()
        all_there()
        os.kill(kafka.server.pid, signal.SIGKILL)
        kafka.restart()
        send()
        all_there()
        kafka.stop()
        command.wait_for(lambda: waits() is not None, what="the flow to wait", timeout=_NOTICED_SECONDS)
        back = time.monotonic() + _AWAY_SECONDS
        (tmp_path / "in" / "one.json").write_text('{"id": 1}\n')
        command.wait_for(lambda: rows("others") == [1], what="a row of the flow that needs no broker")
        time.sleep(max(0.0, back - time.monotonic()))
        kafka.start()
        send()
        all_there()
        command.signal(signal.SIGINT)
        command.wait().expect(0)
    kafka.stop()
    (tmp_path / "penstock.yml").write_text(_SETTINGS)
    with running("run", tmp_path, "--continuous", *options) as command:
        command.wait_for(lambda: waits() is not None, what="the flow to wait")
        waiting = waits()
        assert waiting is not None
        assert waiting["retry_at"] is not None
        assert waiting["error"]["condition"] == "KAFKA_UNREACHABLE"
        command.signal(signal.SIGTERM)
        stopped = command.wait(_STOP_SECONDS).expect(0)
        assert "shop.orders retrying: shop.orders failed and is tried again in" in stopped.stderr
    (tmp_path / "penstock.yml").write_text(_SETTINGS + "retries: {max_flow_retries: 0}\n")
    [error, *_] = penstock("run", tmp_path, "--json", *options).document["errors"]
    assert error["condition"] == "KAFKA_UNREACHABLE"
    assert kafka.address in error["message"]
    kafka.start()
    send()
    penstock("run", tmp_path, *options).expect(0)
    assert rows() == list(range(sent))
    assert copies() == set(range(sent))
