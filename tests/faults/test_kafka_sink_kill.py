"""kill -9 while rows go to a topic: each is there at least once, and what is there twice is of one batch."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from pathlib import Path

import pytest
from tests.cli_runner import penstock, running
from tests.integration.kafka_broker import KafkaBroker

_FILES, _ROWS = 12, 200
_PIPELINE = """
import penstock as ps

ps.create_sink("copies", "kafka", {"kafka.bootstrap.servers": spark.conf.get("broker"), "topic": "killed"})


@ps.append_flow(target="copies")
def rows():
    source = spark.readStream.schema("id INT, file INT").option("maxFilesPerTrigger", "1").json("in")
    return source.selectExpr("to_json(struct(*)) AS value")
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_topic_gets_each_row_and_at_most_one_batch_twice(tmp_path: Path) -> None:
    (tmp_path / "penstock.yml").write_text("name: sinks\nschema: shop\n")
    (tmp_path / "pipeline.py").write_text(_PIPELINE)
    (tmp_path / "in").mkdir()
    for number in range(_FILES):
        ids = range(number * _ROWS, (number + 1) * _ROWS)
        file = tmp_path / "in" / f"{number:02}.json"
        file.write_text("".join(json.dumps({"id": each, "file": number}) + "\n" for each in ids))
        os.utime(file, (number, number))  # they are read in this order
    with KafkaBroker(tmp_path / "broker") as kafka:
        kafka.create_topic("killed")
        options = ("--set", f"broker={kafka.address}")
        with running("run", tmp_path, *options) as command:
            command.wait_for(lambda: len(kafka.consume("killed")) >= 3 * _ROWS, what="three batches in the topic")
            command.signal(signal.SIGKILL)
            command.wait()
        assert len(kafka.consume("killed")) < _FILES * _ROWS, "it had not finished yet"

        penstock("run", tmp_path, *options).expect(0)
        sent = Counter((told["file"], told["id"]) for told in map(json.loads, kafka.consume("killed")))
    assert sorted(each for _, each in sent) == list(range(_FILES * _ROWS))
    assert max(sent.values()) <= 2
    assert len({file for (file, _), times in sent.items() if times == 2}) <= 1
