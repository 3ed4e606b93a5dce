"""From a topic through a pipeline to a topic, on a real broker that restarts: in batches, and in real-time mode."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path

import pytest
from tests.cli_runner import penstock, running
from tests.integration.kafka_broker import KafkaBroker
from tests.oracle.tables import read_table, stored
from tests.repo.documents import ROOT, blocks

from penstock.events import EventType, read_events
from penstock.testing.crash import forget_newest_commits

pytestmark = pytest.mark.usefixtures("one_process")

_PIPELINE = """
import dlt

KAFKA = {"kafka.bootstrap.servers": spark.conf.get("broker")}
dlt.create_sink("copies", "kafka", {**KAFKA, "topic": "sink_copies"})
dlt.create_sink("live", "kafka", KAFKA)


def messages():
    return spark.readStream.format("kafka").options(**KAFKA, subscribe="sink_in", startingOffsets="earliest").load()


@dlt.table
def numbers():
    return messages().selectExpr("from_json(CAST(value AS STRING), 'id INT, amount INT') AS o").select("o.*")


@dlt.append_flow(target="copies")
def large():
    header = "struct('amount' AS key, CAST(CAST(amount AS STRING) AS BINARY) AS value)"
    return dlt.read_stream("numbers").where("amount >= 50").selectExpr(
        "CAST(id AS STRING) AS key", "to_json(struct(*)) AS value", f"array({header}) AS headers", "id % 2 AS partition"
    )


@dlt.update_flow(target="live", spark_conf={"pipelines.trigger": "RealTime", "pipelines.trigger.interval": "1 minute"})
def at_once():
    return messages().selectExpr("upper(CAST(value AS STRING)) AS value", "'sink_live' AS topic")
"""
_SCREEN = """
import dlt

dlt.create_sink("screen", "console", {"numRows": "2", "truncate": "false"})


@dlt.append_flow(target="screen")
def shown():
    return dlt.read_stream("numbers").selectExpr("id", "repeat('long ', 10) AS text")
"""
_SETTINGS = """
name: copies
schema: shop
retries: {first_delay: 1 second, longest_delay: 2 seconds}
"""
_READER = """
import penstock as ps

KAFKA = {"kafka.bootstrap.servers": spark.conf.get("broker")}
"""
_ROWS = [{"id": 1, "amount": 5.0}, {"id": 2, "amount": 2000.0}]
"""In the folders of the page on sinks."""


def _recipe() -> str:
    """A reader that keeps one row a key, as docs/how-to/kafka.md has it."""
    page = blocks(ROOT / "docs/how-to/kafka.md")
    [printed] = [block.text for block in page if "dropDuplicatesWithinWatermark" in block.text]
    assert printed.count("large-orders") == 1
    return _READER + printed.replace("large-orders", "sink_copies")


@pytest.mark.timeout(600)
def test_from_a_topic_to_a_topic(tmp_path: Path, kafka: KafkaBroker) -> None:
    """Beside it in the first run: the pipelines of docs/how-to/sinks.md as they are printed; in the second a screen."""
    kafka.create_topic("sink_copies", partitions=2)
    for topic in ("sink_in", "sink_live", "alerts", "payments"):
        kafka.create_topic(topic)
    (tmp_path / "penstock.yml").write_text(_SETTINGS)
    (tmp_path / "pipeline.py").write_text(_PIPELINE)
    printed = [block.text for block in blocks(ROOT / "docs/how-to/sinks.md") if block.kind == "python"]
    more = [tmp_path / f"more_{number}.py" for number in range(2)]
    for file, text in zip(more, printed, strict=True):
        file.write_text(text)
    for folder in ("orders", "payments"):
        (tmp_path / "data" / folder).mkdir(parents=True)
        (tmp_path / "data" / folder / "1.json").write_text("".join(f"{json.dumps(row)}\n" for row in _ROWS))
    options = ("--set", f"broker={kafka.address}", "--set", f"source={tmp_path}")
    storage = tmp_path / ".penstock"
    kafka.produce("sink_in", [{"id": number, "amount": number} for number in range(100)])

    first = penstock("run", tmp_path, "--json", *options).expect(0)
    rows = {dataset["name"]: (dataset["type"], dataset["rows"]) for dataset in first.document["datasets"]}
    told = {"shop.numbers": ("STREAMING_TABLE", 100), "shop.copies": ("SINK", 50), "shop.live": ("SINK", 100)}
    assert told.items() <= rows.items()
    copies = sorted(json.loads(value)["id"] for value in kafka.consume("sink_copies", partitions=2))
    assert copies == list(range(50, 100))
    assert len(read_table(stored(storage, "shop", "numbers"))) == 100
    assert len(kafka.consume("sink_live")) == 100

    assert [json.loads(value) for value in kafka.consume("alerts")] == _ROWS[1:]
    assert [json.loads(value) for value in kafka.consume("payments")] == _ROWS
    for table in (stored(storage, "lake", "orders"), stored(storage, "lake", "payments")):
        assert sorted(read_table(table), key=lambda row: row["id"]) == _ROWS, table
    assert sorted((row["id"], row["total"]) for row in read_table(tmp_path / "audit")) == [(1, 5.0), (2, 2000.0)]

    # As if the run had died after the batch was sent, and before its checkpoint said so.
    for file in more:
        file.unlink()
    (tmp_path / "reader.py").write_text(_recipe())
    (tmp_path / "screen.py").write_text(_SCREEN)
    [commits] = (storage / "checkpoints/shop/copies/large").glob("*/commits")
    forget_newest_commits({str(commits.parent): None})
    with running("run", tmp_path, "--continuous", *options) as command:
        command.jvm()

        def counted() -> Counter[int]:
            return Counter(int(message.key or b"") for message in kafka.messages("sink_copies", partitions=2))

        def sent(number: int, partition: int = 0) -> None:
            kafka.produce("sink_in", [{"id": number, "amount": number}], partition=partition)
            command.wait_for(lambda: counted()[number] > 0, what=f"the copy of message {number}")

        def kept() -> list[int]:
            path = stored(storage, "shop", "large_orders_once")
            return sorted(int(row["key"]) for row in read_table(path)) if (path / "_delta_log").exists() else []

        sent(100)
        command.wait_for(
            lambda: b'{"ID": 100, "AMOUNT": 100}' in kafka.consume("sink_live"), what="the message in real time"
        )
        kafka.add_partitions("sink_in", 2)
        sent(101, partition=1)
        again = dict.fromkeys(range(50, 100), 2)
        assert counted() == {**again, 100: 1, 101: 1}, "the batch once more, and nothing else"
        kafka.restart()
        sent(102)
        command.wait_for(lambda: len(kept()) >= 53, what="the rows of the reader")
        command.signal(signal.SIGINT)
        second = command.wait().expect(0)
    assert "long long long long long" in second.stderr
    assert "only showing top 2 rows" in second.stderr
    *_, stopped = read_events(str(storage), types={EventType.USER_ACTION})
    assert stopped.details["user_action"]["arguments"] == {"signal": "SIGINT"}
    assert sorted(row["id"] for row in read_table(stored(storage, "shop", "numbers"))) == list(range(103))
    assert kept() == list(range(50, 103)), "one row a key"
    for message in kafka.messages("sink_copies", partitions=2):
        number = int(message.key or b"")
        assert json.loads(message.value or b"") == {"id": number, "amount": number}
        assert (message.headers, message.partition) == ({"amount": str(number).encode()}, number % 2)


@pytest.mark.slow  # which options a batch reads a topic with, tests/unit/spark/test_batch_read.py tells
@pytest.mark.timeout(300)
def test_topics_as_one_batch(tmp_path: Path, kafka: KafkaBroker) -> None:
    for topic in ("whole_in", "whole_copies", "whole_live"):
        kafka.create_topic(topic)
    (tmp_path / "penstock.yml").write_text("name: copies\nschema: shop\n")
    (tmp_path / "pipeline.py").write_text(_PIPELINE.replace('"earliest"', '"latest"').replace("sink_", "whole_"))
    kafka.produce("whole_in", [{"id": number, "amount": number} for number in range(100)])

    status = penstock("run", tmp_path, "--batch", "--json", "--set", f"broker={kafka.address}").expect(0).document
    assert [(dataset["name"], dataset["rows"]) for dataset in status["datasets"]] == [("shop.numbers", 100)]
    assert len(read_table(stored(tmp_path / ".penstock/batch", "shop", "numbers"))) == 100
    assert [kafka.consume(topic) for topic in ("whole_copies", "whole_live")] == [[], []], "no row was sent"
