"""The pipeline of the seed, as a DLT user writes it, against a real broker; and a broker that is not there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli_runner import penstock
from tests.integration.kafka_broker import KafkaBroker
from tests.oracle.orders import Line, seed_pipeline
from tests.oracle.tables import assert_table, read_table, stored
from tests.processes import free_ports

pytestmark = pytest.mark.usefixtures("one_process")

_PIPELINES = Path(__file__).parent / "pipelines"
_SILVER = ("order_id", "customer_id", "product", "amount", "order_time")
_PRODUCTS = ("tea", "coffee", "cups")


def _project(name: str, directory: Path) -> Path:
    project = directory / name
    shutil.copytree(_PIPELINES / name, project)
    return project


def _messages(first: int, count: int) -> list[Line]:
    """Orders a minute apart: each tenth has a negative amount, each eleventh no customer, each 25th is cut off."""
    return [
        None
        if number % 25 == 0
        else {
            "order_id": f"order-{number}",
            "customer_id": None if number % 11 == 0 else f"customer-{number % 7}",
            "product": _PRODUCTS[number % len(_PRODUCTS)],
            "amount": -1.5 if number % 10 == 0 else number / 4,
            "order_time": f"2026-01-01T{6 + number // 60:02d}:{number % 60:02d}:00Z",
        }
        for number in range(first, first + count)
    ]


def _send(kafka: KafkaBroker, topic: str, messages: list[Line]) -> None:
    kafka.produce(topic, ['{"order_id": "cut' if message is None else json.dumps(message) for message in messages])


def _datasets(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {dataset["name"].rpartition(".")[2]: dataset for dataset in document["datasets"]}


@pytest.mark.timeout(1200)
def test_the_seed_pipeline_reads_a_topic_and_then_only_what_is_new(tmp_path: Path, kafka: KafkaBroker) -> None:
    topic = "orders_topic"
    kafka.create_topic(topic)
    project = _project("kafka_orders", tmp_path)
    command = ("run", project, "--json", "--set", f"broker={kafka.address}", "--set", f"topic={topic}")
    tables = project / ".penstock"

    messages = _messages(1, 300)
    _send(kafka, topic, messages)
    status = _datasets(penstock(*command).expect(0).document)
    silver, gold = seed_pipeline(messages)
    assert_table(stored(tables, "shop", "silver_orders"), silver, _SILVER)
    assert_table(stored(tables, "shop", "gold_hourly_summary"), gold)
    bronze = read_table(stored(tables, "shop", "bronze_orders"))
    assert sorted(bronze[0]) == ["kafka_timestamp", "raw_json"]
    assert len(bronze) == 300
    assert len(gold) == 3 * len(_PRODUCTS)  # the last order is of 10:59, an hour of grace: 6, 7 and 8 are closed
    assert status["silver_orders"]["rows"] == len(silver)
    assert status["silver_orders"]["dropped"] == 300 - len(silver)
    counts = {each["name"]: (each["passed"], each["failed"]) for each in status["silver_orders"]["expectations"]}
    broken, negative = len([n for n in range(1, 301) if n % 25 == 0]), 30
    without_customer = len([n for n in range(1, 301) if n % 11 == 0 and n % 25 != 0])
    negative_and_broken = len([n for n in range(1, 301) if n % 10 == 0 or n % 25 == 0])
    assert negative_and_broken < broken + negative
    assert counts["valid_amount"] == (300 - negative_and_broken, negative_and_broken)
    assert counts["valid_customer"] == (300 - broken - without_customer, broken + without_customer)

    more = _messages(301, 120)
    _send(kafka, topic, more)
    penstock(*command).expect(0)
    silver, gold = seed_pipeline([*messages, *more])
    assert_table(stored(tables, "shop", "silver_orders"), silver, _SILVER)
    assert_table(stored(tables, "shop", "gold_hourly_summary"), gold)
    assert len(read_table(stored(tables, "shop", "bronze_orders"))) == 420


@pytest.mark.timeout(1200)
def test_a_broker_that_is_down_fails_its_flow_alone(tmp_path: Path) -> None:
    project = _project("kafka_and_files", tmp_path)
    returns = project / "data" / "returns"
    returns.mkdir(parents=True)
    (returns / "1.json").write_text('{"product": "tea", "quantity": 2}\n{"product": "tea", "quantity": 3}\n')
    address = f"127.0.0.1:{free_ports(1)[0]}"

    outcome = penstock("run", project, "--json", "--set", f"broker={address}").expect(1)
    unreachable = outcome.error("KAFKA_UNREACHABLE")
    assert address in unreachable["message"]
    assert unreachable["dataset"].endswith("bronze_orders")
    assert "Traceback" not in outcome.stderr

    status = _datasets(penstock("status", project, "--json").expect(0).document)
    assert {name: dataset["status"] for name, dataset in status.items()} == {
        "bronze_orders": "FAILED",
        "silver_orders": "SKIPPED",
        "orders_by_length": "SKIPPED",
        "bronze_returns": "COMPLETED",
        "returns_by_product": "COMPLETED",
    }
    assert_table(stored(project / ".penstock", "shop", "returns_by_product"), [{"product": "tea", "quantity": 5}])

    told = penstock("events", project, "--json", "--count", "0", "--dataset", "shop.bronze_orders").expect(0).lines
    loud = [event for event in told if event["level"] in {"WARN", "ERROR"}]
    assert [event["level"] for event in loud] == ["WARN", "ERROR"], "tried again once, then given up"
    assert {event["event_type"] for event in loud} == {"flow_progress"}
    assert loud[-1]["error"]["condition"] == "KAFKA_UNREACHABLE"
    assert address in json.dumps(loud[0])


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_run_after_the_broker_came_back_takes_everything(tmp_path: Path, kafka: KafkaBroker) -> None:
    topic = "orders_after_outage"
    kafka.create_topic(topic)
    messages = _messages(1, 50)
    _send(kafka, topic, messages)
    project = _project("kafka_orders", tmp_path)
    command = ("run", project, "--json", "--set", f"broker={kafka.address}", "--set", f"topic={topic}")
    penstock(*command).expect(0)
    _send(kafka, topic, _messages(51, 50))
    kafka.restart()
    penstock(*command).expect(0)
    silver, _ = seed_pipeline([*messages, *_messages(51, 50)])
    assert_table(stored(project / ".penstock", "shop", "silver_orders"), silver, _SILVER)
