"""Kafka deletes rows that a flow has not read, by retention and with the whole topic: refused, then accepted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli_runner import penstock
from tests.integration.kafka_broker import KafkaBroker
from tests.oracle.tables import read_table, stored

_PIPELINE = """
import dlt

SERVERS = {"kafka.bootstrap.servers": spark.conf.get("broker")}


@dlt.table
def orders():
    read = spark.readStream.format("kafka").options(**SERVERS, subscribe="losing", startingOffsets="earliest").load()
    return read.selectExpr("CAST(CAST(value AS STRING) AS INT) AS id")
"""


@pytest.fixture
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    with KafkaBroker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_rows_that_kafka_has_deleted(tmp_path: Path, kafka: KafkaBroker) -> None:
    (tmp_path / "penstock.yml").write_text("name: losing\nschema: shop\n")
    (tmp_path / "pipeline.py").write_text(_PIPELINE)
    options = ("--set", f"broker={kafka.address}")

    def send(first: int, end: int) -> None:
        kafka.produce("losing", [str(number) for number in range(first, end)])

    def rows() -> list[int]:
        return sorted(row["id"] for row in read_table(stored(tmp_path / ".penstock", "shop", "orders")))

    def refused() -> dict[str, Any]:
        [error] = penstock("run", tmp_path, "--json", *options).expect(3).document["errors"]
        assert error["condition"] == "KAFKA_DATA_LOSS"
        assert "--accept-data-loss shop.orders/orders" in error["fix"]
        return dict(error)

    kafka.create_topic("losing")
    send(0, 10)
    penstock("run", tmp_path, *options).expect(0)
    send(10, 20)
    kafka.delete_before("losing", 15)
    message = refused()["message"]
    assert "losing-0" in message
    assert "10" in message
    penstock("run", tmp_path, "--accept-data-loss", "orders", *options).expect(0)
    assert rows() == [*range(10), *range(15, 20)]

    kafka.recreate_topic("losing")
    send(100, 103)
    message = refused()["message"]
    assert "losing-0" in message
    assert "20" in message
    penstock("run", tmp_path, "--accept-data-loss", "orders", *options).expect(0)
    send(103, 105)
    penstock("run", tmp_path, *options).expect(0)
    assert {103, 104} <= set(rows())
    assert len(rows()) == len(set(rows())), "nothing was read twice"
