"""Advice on the partitions of a shuffle, and on those in which Kafka is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.care.doctor.pipelines import CLUSTER, SETTINGS, checkpoint, state
from tests.unit.care.tuning.loads import YARN, advice, all_advice, kafka, load, of_size, with_conf

from penstock.care.doctor.facts import StorageFacts
from penstock.care.tuning.advice import Verdict

SHUFFLE = "spark.sql.shuffle.partitions"
FOUR = replace(SETTINGS, cores=4)


def stateful(partitions: int, *, rows: int = 1_000, state_rows: int = 500, count: int = 25) -> StorageFacts:
    recorded = checkpoint(spark__sql__shuffle__partitions=str(partitions))
    made = of_size(rows, count=count, **state(state_rows))
    settings = with_conf(FOUR, spark__sql__shuffle__partitions=str(partitions))
    return load(*made, settings=settings, stateful=("aggregate",), checkpoint=recorded)


@pytest.mark.parametrize(
    ("rows", "state_rows", "needed"),
    [(1_000, 500, "4"), (400_000, 500, "4"), (400_001, 500, "8"), (9_000_000, 500, "12"), (1_000, 4_000_001, "8")],
)
def test_partitions_are_the_cores_times_what_a_partition_can_hold(rows: int, state_rows: int, needed: str) -> None:
    given = stateful(200, rows=rows, state_rows=state_rows)
    for found in (advice(given, SHUFFLE), advice(given, SHUFFLE, flow="shop.orders")):
        assert (found.verdict, found.now, found.advised) == (Verdict.CHANGE, "200", needed)
        assert found.measured == {"cores": 4, "batch_rows": rows, "state_rows": state_rows}


def test_a_checkpoint_is_repartitioned_by_a_command() -> None:
    found = advice(stateful(200), SHUFFLE, flow="shop.orders")
    assert found.commands == ("penstock checkpoint repartition shop.orders --partitions 4",)
    assert (
        "4 cores; 95 % of the batches have at most 1.0k rows and 500 rows of state (25 batches in 4 minutes)."
        in found.evidence
    )


@pytest.mark.parametrize("partitions", [4, 8, 12])
def test_up_to_three_partitions_a_core_are_right(partitions: int) -> None:
    assert {each.verdict for each in all_advice(stateful(partitions), SHUFFLE)} == {Verdict.KEEP}


def test_the_files_of_the_state_say_what_the_plan_of_spark_4_2_does_not() -> None:
    given = replace(load(*of_size(100), settings=FOUR, stateful=("aggregate",)), state_partitions={"shop.orders": 200})
    found = advice(given, SHUFFLE, flow="shop.orders")
    assert (found.now, found.advised) == ("200", "4")


def test_fewer_partitions_than_cores_are_too_few() -> None:
    assert advice(stateful(2), SHUFFLE).advised == "4"


def test_too_few_batches_say_how_many_are_needed() -> None:
    given = stateful(200, count=3)
    assert advice(given, SHUFFLE, flow="shop.orders").evidence == "3 batches with rows, 20 are needed."
    found = advice(given, SHUFFLE)
    assert (found.verdict, found.advised) == (Verdict.TOO_LITTLE, None)
    assert found.evidence == "No flow had more than 3 batches with rows, 20 are needed."


def test_a_checkpoint_without_a_recorded_number_says_so() -> None:
    given = load(*of_size(100), stateful=("aggregate",))
    assert advice(given, SHUFFLE, flow="shop.orders").verdict is Verdict.TOO_LITTLE


def test_the_cores_of_a_cluster_are_those_of_its_executors() -> None:
    made = of_size(100, executors=3)
    found = advice(load(*made, settings=with_conf(YARN, spark__executor__cores="4")), SHUFFLE)
    assert (found.now, found.advised, found.measured["cores"]) == ("200", "12", 12)
    assert advice(load(*made, settings=YARN), SHUFFLE).advised == "3"  # YARN's default is a core


@pytest.mark.parametrize(
    ("executors", "reason"),
    [(None, "The log has no batch with a known number of executors."), (3, "spark.executor.cores is not set")],
)
def test_unknown_cores_are_no_guess(executors: int | None, reason: str) -> None:
    found = advice(load(*of_size(100, executors=executors), settings=CLUSTER), SHUFFLE)
    assert found.verdict is Verdict.TOO_LITTLE
    assert found.evidence.startswith(reason)


def reading_kafka(partitions: int, rows: int, *, count: int = 25, **more: Any) -> StorageFacts:
    return load(
        *of_size(rows, count=count), settings=FOUR, sources=(("kafka", "orders"),), checkpoint=kafka(partitions), **more
    )


def test_a_topic_with_fewer_partitions_than_cores_is_read_in_as_many_tasks() -> None:
    found = advice(reading_kafka(1, 200_000), "minPartitions", flow="shop.orders")
    assert (found.verdict, found.now, found.advised) == (Verdict.CHANGE, None, "4")
    assert found.measured == {"topic_partitions": 1, "cores": 4, "rows_per_partition": 200_000}


@pytest.mark.parametrize(
    ("partitions", "rows", "limits"),
    [
        (4, 200_000, {}),
        (1, 49_999, {}),
        (1, 200_000, {"orders": {"minpartitions": "4"}}),
    ],
)
def test_enough_partitions_or_few_rows_are_right(partitions: int, rows: int, limits: dict[str, dict[str, str]]) -> None:
    found = advice(reading_kafka(partitions, rows, limits=limits), "minPartitions", flow="shop.orders")
    assert found.verdict is Verdict.KEEP


def test_partitions_of_a_topic_need_batches_and_offsets() -> None:
    few = advice(reading_kafka(1, 200_000, count=19), "minPartitions", flow="shop.orders")
    assert few.evidence == "19 batches with rows, 20 are needed."
    unknown = load(*of_size(200_000), sources=(("kafka", "orders"),))
    assert advice(unknown, "minPartitions", flow="shop.orders").verdict is Verdict.TOO_LITTLE


def test_a_pipeline_without_kafka_has_no_partitions_of_topics() -> None:
    found = advice(load(*of_size(100)), "minPartitions")
    assert (found.verdict, found.evidence) == (Verdict.NOT_APPLICABLE, "No flow reads Kafka.")
