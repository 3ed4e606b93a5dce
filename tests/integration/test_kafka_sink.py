"""From a topic through a pipeline to a topic, on a real broker: in batches, and in Spark's real-time mode."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from tests.cli_runner import penstock, running
from tests.integration.kafka_broker import KafkaBroker
from tests.oracle.tables import read_table, stored

from penstock.events import EventType, read_events

_PIPELINE = """
import dlt

SERVERS = {"kafka.bootstrap.servers": spark.conf.get("broker")}
dlt.create_sink("copies", "kafka", {**SERVERS, "topic": "sink_copies"})
dlt.create_sink("live", "kafka", SERVERS)


def messages():
    return spark.readStream.format("kafka").options(**SERVERS, subscribe="sink_in", startingOffsets="earliest").load()


@dlt.table
def orders():
    return messages().selectExpr("from_json(CAST(value AS STRING), 'id INT, amount INT') AS o").select("o.*")


@dlt.append_flow(target="copies")
def large():
    found = dlt.read_stream("orders").where("amount >= 50")
    return found.selectExpr("CAST(id AS STRING) AS key", "to_json(struct(*)) AS value")


@dlt.update_flow(target="live", spark_conf={"pipelines.trigger": "RealTime", "pipelines.trigger.interval": "1 minute"})
def at_once():
    return messages().selectExpr("upper(CAST(value AS STRING)) AS value", "'sink_live' AS topic")
"""


@pytest.mark.timeout(600)
def test_from_a_topic_to_a_topic(tmp_path: Path, kafka: KafkaBroker) -> None:
    for topic in ("sink_in", "sink_copies", "sink_live"):
        kafka.create_topic(topic)
    (tmp_path / "penstock.yml").write_text("name: copies\nschema: shop\n")
    (tmp_path / "pipeline.py").write_text(_PIPELINE)
    options = ("--set", f"broker={kafka.address}")
    orders = [{"id": number, "amount": number} for number in range(100)]
    kafka.produce("sink_in", orders)

    status = penstock("run", tmp_path, "--json", *options).expect(0).document
    rows = {dataset["name"]: (dataset["type"], dataset["rows"]) for dataset in status["datasets"]}
    assert rows == {"shop.orders": ("STREAMING_TABLE", 100), "shop.copies": ("SINK", 50), "shop.live": ("SINK", 100)}
    copies = sorted(json.loads(value)["id"] for value in kafka.consume("sink_copies"))
    assert copies == list(range(50, 100))
    assert len(read_table(stored(tmp_path / ".penstock", "shop", "orders"))) == 100
    assert len(kafka.consume("sink_live")) == 100

    with running("run", tmp_path, "--continuous", *options) as command:
        command.jvm()
        kafka.produce("sink_in", [{"id": 100, "amount": 100}])
        command.wait_for(
            lambda: b'{"ID": 100, "AMOUNT": 100}' in kafka.consume("sink_live"), what="the message in real time"
        )
        command.wait_for(lambda: len(kafka.consume("sink_copies")) == 51, what="the copy of the message")
        kafka.add_partitions("sink_in", 2)
        kafka.produce("sink_in", [{"id": 101, "amount": 101}], partition=1)
        command.wait_for(lambda: len(kafka.consume("sink_copies")) == 52, what="the message of the new partition")
        command.signal(signal.SIGINT)
        command.wait().expect(0)
    assert len(kafka.consume("sink_copies")) == 52, "nothing was sent twice"
    *_, stopped = read_events(str(tmp_path / ".penstock"), types={EventType.USER_ACTION})
    assert stopped.details["user_action"]["arguments"] == {"signal": "SIGINT"}

    # As if the run had died after the last batch was sent, and before its checkpoint said so.
    [commits] = (tmp_path / ".penstock/checkpoints/shop/copies/large").glob("*/commits")
    newest = max(int(path.name) for path in commits.iterdir() if path.name.isdecimal())
    for name in (str(newest), f".{newest}.crc"):
        (commits / name).unlink(missing_ok=True)
    penstock("run", tmp_path, *options).expect(0)
    copies = [json.loads(value)["id"] for value in kafka.consume("sink_copies")]
    assert sorted(copies) == sorted([*range(50, 102), 101]), "the last batch once more, and nothing else"


@pytest.mark.slow  # which options a batch reads a topic with, tests/unit/spark/test_batch_read.py tells
@pytest.mark.timeout(300)
def test_topics_as_one_batch(tmp_path: Path, kafka: KafkaBroker) -> None:
    for topic in ("whole_in", "whole_copies", "whole_live"):
        kafka.create_topic(topic)
    (tmp_path / "penstock.yml").write_text("name: copies\nschema: shop\n")
    (tmp_path / "pipeline.py").write_text(_PIPELINE.replace('"earliest"', '"latest"').replace("sink_", "whole_"))
    kafka.produce("whole_in", [{"id": number, "amount": number} for number in range(100)])

    status = penstock("run", tmp_path, "--batch", "--json", "--set", f"broker={kafka.address}").expect(0).document
    assert [(dataset["name"], dataset["rows"]) for dataset in status["datasets"]] == [("shop.orders", 100)]
    assert len(read_table(stored(tmp_path / ".penstock/batch", "shop", "orders"))) == 100
    assert [kafka.consume(topic) for topic in ("whole_copies", "whole_live")] == [[], []], "no row was sent"
