"""What each option of a streaming read of Kafka does, on a real broker: a table an option, all in one run."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cli_runner import penstock
from tests.integration.kafka_broker import KafkaBroker
from tests.oracle.tables import read_table, stored

pytestmark = pytest.mark.usefixtures("one_process")

_START = round(time.time() * 1000) - 3_600_000  # an hour ago; what is older than a week, the broker deletes
_PIPELINE = """
import json

import dlt

READS = json.loads(spark.conf.get("reads"))


def declare(name, options):
    @dlt.table(name=name)
    def rows():
        given = {"kafka.bootstrap.servers": spark.conf.get("broker"), "startingOffsets": "earliest", **options}
        read = spark.readStream.format("kafka").options(**{key: value for key, value in given.items() if value}).load()
        header = "CAST(headers[0].value AS STRING)" if "includeHeaders" in options else "CAST(NULL AS STRING)"
        columns = ("CAST(value AS STRING) AS value", "partition", f"{header} AS header", "spark_partition_id() AS task")
        return read.selectExpr(*columns)


for name, options in READS.items():
    declare(name, options)
"""
_NUMBERS = {"subscribe": "numbers"}
_LATER = {**_NUMBERS, "startingOffsets": None}
_READS: Mapping[str, Mapping[str, str | None]] = {
    "everything": _NUMBERS,
    "by_pattern": {"subscribePattern": "numb.*"},
    "by_assign": {"assign": '{"numbers": [0, 2]}'},
    "from_offsets": {**_NUMBERS, "startingOffsets": '{"numbers": {"0": 5, "1": -1, "2": -2}}'},
    "from_latest": {**_NUMBERS, "startingOffsets": "latest"},
    "from_time": {**_LATER, "startingTimestamp": str(_START + 5)},
    "from_times": {
        **_LATER,
        "startingOffsetsByTimestamp": json.dumps({"numbers": {"0": _START + 8, "1": _START, "2": _START}}),
    },
    "from_time_to_come": {
        **_LATER,
        "startingTimestamp": str(_START * 2),
        "startingOffsetsByTimestampStrategy": "latest",
    },
    "few_at_once": {**_NUMBERS, "maxOffsetsPerTrigger": "12"},
    "many_at_once": {**_NUMBERS, "minOffsetsPerTrigger": "1000", "maxTriggerDelay": "1s"},
    "in_many_tasks": {**_NUMBERS, "minPartitions": "6"},
    "in_small_tasks": {**_NUMBERS, "maxRecordsPerPartition": "5"},
    "with_headers": {**_NUMBERS, "includeHeaders": "true"},
    "as_a_group": {**_NUMBERS, "groupIdPrefix": "shop", "bytesEstimateWindowLength": "300s"},
    "as_one_group": {**_NUMBERS, "kafka.group.id": "shop-orders"},
    "patiently": {
        **_NUMBERS,
        "failOnDataLoss": "false",
        "fetchOffset.numRetries": "5",
        "fetchOffset.retryIntervalMs": "10",
        "kafkaConsumer.pollTimeoutMs": "20000",
    },
    "committed": {"subscribe": "paid", "kafka.isolation.level": "read_committed"},
    "uncommitted": {"subscribe": "paid"},
}
_ROWS = {
    "by_assign": 20,
    "from_offsets": 15,
    "from_latest": 0,
    "from_time": 15,
    "from_times": 22,
    "from_time_to_come": 0,
    "committed": 2,
    "uncommitted": 5,
}
"""The other tables have all 30."""


@pytest.mark.timeout(300)
def test_each_option_does_what_it_says(tmp_path: Path, kafka: KafkaBroker) -> None:
    kafka.create_topic("numbers", partitions=3)
    for partition in range(3):
        for number in range(10):
            headers = {"source": b"till 4"}
            kafka.produce("numbers", [str(number)], headers=headers, partition=partition, timestamp=_START + number)
    kafka.create_topic("paid")
    kafka.transaction("paid", ["aborted 1", "aborted 2", "aborted 3"], commit=False)
    kafka.transaction("paid", ["paid 1", "paid 2"], commit=True)
    (tmp_path / "penstock.yml").write_text("name: options\nschema: shop\nretries: {max_flow_retries: 0}\n")
    (tmp_path / "pipeline.py").write_text(_PIPELINE)

    options = ("--set", f"broker={kafka.address}", "--set", f"reads={json.dumps(_READS)}")
    status = penstock("run", tmp_path, "--json", *options).expect(0).document
    tables = {name: read_table(stored(tmp_path / ".penstock", "shop", name)) for name in _READS}
    assert {name: len(rows) for name, rows in tables.items()} == {name: _ROWS.get(name, 30) for name in _READS}
    assert {row["partition"] for row in tables["by_assign"]} == {0, 2}
    assert {row["value"] for row in tables["from_time"]} == {"5", "6", "7", "8", "9"}
    assert {row["value"] for row in tables["committed"]} == {"paid 1", "paid 2"}
    assert {row["header"] for row in tables["with_headers"]} == {"till 4"}
    tasks = {
        name: len({row["task"] for row in tables[name]}) for name in ("everything", "in_many_tasks", "in_small_tasks")
    }
    assert tasks == {"everything": 3, "in_many_tasks": 6, "in_small_tasks": 6}

    lag = {dataset["name"].removeprefix("shop."): dataset["lag"] for dataset in status["datasets"]}
    assert lag["everything"] == {
        "rows": 0,
        "files": None,
        "bytes": None,
        "milliseconds": None,
        "partitions": {"numbers": {"0": 0, "1": 0, "2": 0}},
    }
    assert set(lag["by_assign"]["partitions"]["numbers"]) == {"0", "2"}
    left = [batch["backlog_partitions"]["numbers"] for batch in _batches(tmp_path, "shop.few_at_once")]
    assert [sum(each.values()) for each in left] == [18, 6, 0]
    assert left[0] == {"0": 6, "1": 6, "2": 6}


def _batches(folder: Path, dataset: str) -> list[dict[str, Any]]:
    """The metrics of each batch of the flows into `dataset`."""
    events = penstock("events", folder, "--json").lines
    told = [
        json.loads(each["details"]).get("flow_progress", {}).get("metrics")
        for each in events
        if _dataset(each) == dataset
    ]
    return [metrics for metrics in told if metrics]


def _dataset(event: dict[str, Any]) -> str | None:
    return (event.get("origin") or {}).get("dataset_name")
