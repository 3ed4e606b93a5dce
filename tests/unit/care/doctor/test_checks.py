"""Each check of the production checklist: what it fails, what it passes, and when it does not apply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.unit.care.doctor.pipelines import (
    CLUSTER,
    CONTINUOUS,
    NOW,
    SETTINGS,
    batch,
    batches,
    checkpoint,
    facts,
    flow,
    history,
    result,
    state,
    status,
    table,
    ten,
    update,
)

from penstock.care.doctor.catalogue import rules
from penstock.care.doctor.checklist import CHECKS, Status
from penstock.care.doctor.facts import StorageFacts
from penstock.events import UpdateState
from penstock.observe.definitions import DatasetDefinition, RuleDefinition
from penstock.observe.flows.history import SinkDefinition
from penstock.observe.status.accounting import AccountCounts
from penstock.observe.status.pipeline_status import DatasetStatus, ExpectationStatus
from penstock.storage.jvm_counters import JvmMemory
from penstock.storage.maintenance_records import MaintenanceRecord
from penstock.storage.process_resources import ProcessResources

Make = Callable[[], StorageFacts]
PROVIDER = "spark__sql__streaming__stateStore__providerClass"
STORES = "org.apache.spark.sql.execution.streaming.state"
STREAMING = {"name": "shop.orders", "type": "STREAMING_TABLE"}


def dataset(**more: object) -> DatasetStatus:
    return DatasetStatus("shop.orders", "STREAMING_TABLE", None, 100, 0, **more)  # type: ignore[arg-type]


def judged(*datasets: DatasetStatus) -> StorageFacts:
    return facts(datasets=datasets)


def expecting(failed: int) -> StorageFacts:
    return judged(dataset(expectations=(ExpectationStatus("positive", 100 - failed, failed, "drop"),)))


def declared(*names: str) -> StorageFacts:
    given = tuple(RuleDefinition(name, "amount > 0", "drop") for name in names)
    definition = DatasetDefinition("shop.orders", "STREAMING_TABLE", location="orders.py:3", rules=given)
    return facts(history=history(datasets={"shop.orders": definition}))


def conf(**values: str) -> StorageFacts:
    settings = {key.replace("__", "."): value for key, value in values.items()}
    return facts(settings=replace(CLUSTER, conf=settings))


def process(used: int, collecting: float) -> StorageFacts:
    memory = JvmMemory(used, 1000, collecting, 100.0)
    return facts(processes=(ProcessResources(7, "java", 10, 1024, 20, memory=memory),))


def continuous(*spans: int) -> StorageFacts:
    """An update of an hour with batches of so many milliseconds."""
    made = batches(*(batch(number, took=took) for number, took in enumerate(spans)))
    return facts(history=history(flow(made), updates=(update(continuous=True),)))


def falling_behind(executors: tuple[int | None, ...]) -> StorageFacts:
    sizes = [(100, 100), (100, 100), (160, 120), (160, 120), (160, 120)]
    made = [
        batch(number, input_rows_per_second=float(arrive), processed_rows_per_second=float(done))
        for number, (arrive, done) in enumerate(sizes)
    ]
    return facts(flow(batches(*made, executors=executors)))


def read_table(retention: float, outage: timedelta) -> StorageFacts:
    first = update(NOW - outage - timedelta(hours=2), NOW - outage)
    reader = flow(inputs=("shop.orders",), dataset="shop.silver", flow="silver")
    given = history(reader, updates=(update(NOW, NOW), first))
    return facts(history=given, table_facts=(table(file_retention=retention),), now=NOW)


def growing(*rows: int, removed: int = 0) -> StorageFacts:
    made = batches(*(batch(number, **state(each, removed)) for number, each in enumerate(rows)))
    return facts(flow(made, watermark=("order_time", "10 minutes")))


def waiting(**partitions: int) -> StorageFacts:
    return facts(flow(batches(batch(backlog_partitions={"orders": partitions}))))


CASES: dict[str, tuple[Make, Make]] = {
    "storage-durable": (lambda: facts(storage="/tmp/orders"), lambda: facts(storage="/srv/orders")),
    "storage-shared": (
        lambda: facts(storage="/srv/orders", settings=CLUSTER),
        lambda: facts(settings=CLUSTER),
    ),
    "checkpoint-beside-table": (
        lambda: facts(tables=(table().table,), storage="memory://another/orders"),
        lambda: facts(tables=(table().table,), storage="memory://lake/orders"),
    ),
    "checkpoint-own": (
        lambda: facts(flow(checkpoint=checkpoint("q")), flow(checkpoint=checkpoint("q"), flow="other")),
        lambda: facts(flow(checkpoint=checkpoint("q")), flow(checkpoint=checkpoint("r"), flow="other")),
    ),
    "watermark-set": (
        lambda: facts(flow(batches(batch(**state(9))), stateful=("aggregate",), location="orders.py:7")),
        lambda: facts(flow(stateful=("aggregate",), watermark=("at", "1 minute"))),
    ),
    "watermark-advances": (
        lambda: judged(dataset(watermark="2026-11-20T10:00:00Z", watermark_warning={"message": "It stalls."})),
        lambda: judged(dataset(watermark="2026-11-20T10:00:00Z")),
    ),
    "sinks-exactly-once": (
        lambda: facts(history=history(sinks=(SinkDefinition("shop.out", "kafka", "out.py:1"),))),
        lambda: facts(history=history(sinks=(SinkDefinition("shop.out", "delta", "out.py:1"),))),
    ),
    "trigger-set": (lambda: facts(settings=replace(SETTINGS, once=True, trigger="once")), facts),
    "retention-covers-outage": (
        lambda: read_table(86_400.0, timedelta(days=3)),
        lambda: read_table(7 * 86_400.0, timedelta(days=3)),
    ),
    "updates-succeed": (
        lambda: facts(history=history(updates=(update(state=UpdateState.FAILED), update()))),
        lambda: facts(history=history(updates=(update(), update(state=UpdateState.FAILED)))),
    ),
    "readers-can-read": (
        lambda: facts(table_facts=(table(reader_features=("typeWidening",)),)),
        lambda: facts(table_facts=(table(),)),
    ),
    "expectations-declared": (declared, lambda: declared("positive")),
    "expectations-met": (lambda: expecting(6), lambda: expecting(5)),
    "rows-add-up": (
        lambda: judged(dataset(accounts=AccountCounts(balanced=5, broken=1, error={"message": "5 rows are missing"}))),
        lambda: judged(dataset(accounts=AccountCounts(balanced=6))),
    ),
    "late-rows-few": (
        lambda: facts(flow(ten(late_rows=2), watermark=("order_time", "1 minute"))),
        lambda: facts(flow(ten(late_rows=1), watermark=("order_time", "1 minute"))),
    ),
    "small-files": (
        lambda: facts(table_facts=(table(files=60, bytes=60_000, small_files=50),)),
        lambda: facts(table_facts=(table(files=60, bytes=60_000, small_files=49),)),
    ),
    "files-per-trigger": (
        lambda: facts(flow(ten(took=300, backlog_files=4), sources=(("cloudFiles", "./data"),))),
        lambda: facts(flow(ten(took=3000, backlog_files=4), sources=(("cloudFiles", "./data"),))),
    ),
    "interval-long-enough": (
        lambda: facts(flow(ten(took=1000, adding=300)), settings=CONTINUOUS),
        lambda: facts(flow(ten(took=1000, adding=700)), settings=CONTINUOUS),
    ),
    "interval-short-enough": (
        lambda: facts(flow(ten(took=11_000)), settings=CONTINUOUS),
        lambda: facts(flow(ten(took=9_000)), settings=CONTINUOUS),
    ),
    "keeps-up": (lambda: falling_behind((None,) * 5), lambda: facts(flow(ten()))),
    "table-maintained": (
        lambda: facts(table_facts=(table(version=60),), settings=replace(SETTINGS, maintenance=False)),
        lambda: facts(
            table_facts=(table(version=60),),
            settings=replace(SETTINGS, maintenance=False),
            maintenance={"shop.orders": MaintenanceRecord(0.0, 1, 0.0)},
        ),
    ),
    "driver-memory": (lambda: process(900, 1.0), lambda: process(500, 9.0)),
    "state-shrinks": (lambda: growing(*range(100, 1100, 50)), lambda: growing(*range(100, 1100, 50), removed=1)),
    "state-store": (
        lambda: facts(
            flow(
                batches(batch(**state(9, size=200_000_000))),
                checkpoint=checkpoint(**{PROVIDER: f"{STORES}.HDFSBackedStateStoreProvider"}),
            )
        ),
        lambda: facts(
            flow(
                batches(batch(**state(9, size=200_000_000))),
                checkpoint=checkpoint(**{PROVIDER: f"{STORES}.RocksDBStateStoreProvider"}),
            )
        ),
    ),
    "shuffle-partitions": (
        lambda: facts(flow(stateful=("a",), checkpoint=checkpoint(spark__sql__shuffle__partitions="200"))),
        lambda: facts(flow(stateful=("a",), checkpoint=checkpoint(spark__sql__shuffle__partitions="2"))),
    ),
    "skew": (lambda: waiting(p0=60_000, p1=10_000, p2=9_000), lambda: waiting(p0=30_000, p1=10_000, p2=9_000)),
    "compute-busy": (lambda: continuous(1000, 1000), lambda: continuous(*[10_000] * 100)),
    "executors-bounded": (
        lambda: conf(spark__dynamicAllocation__enabled="true"),
        lambda: conf(spark__dynamicAllocation__enabled="true", spark__dynamicAllocation__maxExecutors="20"),
    ),
    "events-bounded": (facts, lambda: facts(settings=replace(SETTINGS, event_log_retention=86_400.0))),
    "cluster-authentication": (lambda: facts(settings=replace(CLUSTER, authenticated=False)), facts),
    "cluster-encryption": (conf, lambda: conf(spark__network__crypto__enabled="true")),
    "secrets-referenced": (lambda: facts(settings=replace(SETTINGS, plain_secrets=("password",))), facts),
    "storage-private": (lambda: facts(mode=0o40777), lambda: facts(mode=0o40770)),
    "ports-closed": (lambda: conf(spark__ui__enabled="true"), conf),
    "alerts-configured": (facts, lambda: facts(settings=replace(SETTINGS, watched=("*",)))),
    "alerts-have-destination": (facts, lambda: facts(settings=replace(SETTINGS, destinations=("oncall",)))),
    "alerts-delivered": (lambda: facts(history=history(undelivered={"oncall": NOW})), facts),
    "metrics-published": (
        lambda: facts(settings=CONTINUOUS),
        lambda: facts(settings=replace(CONTINUOUS, metrics=("OTLP",))),
    ),
    "numbers-recorded": (
        lambda: facts(flow(ten(processed_rows_per_second=None))),
        lambda: facts(flow(ten())),
    ),
}
"""For each check a pipeline that fails it, and one that passes."""

NEVER_FAILS = {"storage-encrypted"}


def test_each_check_has_its_cases() -> None:
    assert CASES.keys() == CHECKS.keys() - NEVER_FAILS
    assert CHECKS.keys() <= rules().keys()


def test_shuffle_partitions_are_those_of_the_state_where_the_plan_lacks_them() -> None:
    stateful = facts(flow(stateful=("a",)))
    assert status(stateful, "shuffle-partitions") is Status.NOT_APPLICABLE
    assert status(replace(stateful, state_partitions={"shop.orders": 200}), "shuffle-partitions") is Status.FAIL


@pytest.mark.parametrize("rule", CASES)
def test_what_is_wrong_fails_and_what_is_sound_passes(rule: str) -> None:
    wrong, sound = CASES[rule]
    failed, passed = result(wrong(), rule), result(sound(), rule)
    assert failed.status is Status.FAIL, failed
    assert failed.findings[0].evidence
    assert failed.findings[0].rule.name == rule
    assert passed.status is Status.PASS, passed
    assert passed.evidence


@pytest.mark.parametrize("rule", rules())
def test_before_the_first_run_nothing_fails_that_only_a_run_can_show(rule: str, tmp_path: Path) -> None:
    empty = facts(history=history(updates=()), settings=None, holder=None)
    assert status(empty, rule) is not Status.FAIL


def test_a_flow_that_falls_behind_needs_cores_by_what_executors_have_brought() -> None:
    scaled = replace(CLUSTER, conf={"spark.executor.cores": "4"})
    given = replace(falling_behind((1, 1, 2, 2, 2)), settings=scaled)
    [finding] = result(given, "keeps-up").findings
    # From 1 to 2 executors the rate went from 100/s to 120/s; 40/s are missing.
    assert finding.measured == {"more_executors": 2, "more_cores": 8, "rows_per_second_per_executor": 20}
    assert "8 more cores (2 executors)" in finding.evidence
    [unknown] = result(falling_behind((None,) * 5), "keeps-up").findings
    assert "how it scales is not measured" in unknown.evidence
    assert not unknown.measured


def test_overhead_is_measured_and_an_interval_proposed() -> None:
    [finding] = result(CASES["interval-long-enough"][0](), "interval-long-enough").findings
    assert finding.measured == {"overhead_percent": 70, "batch_ms": 1000, "interval_seconds": 10}
    assert status(facts(flow(ten(adding=1))), "interval-long-enough") is Status.NOT_APPLICABLE, "it stops by itself"


def test_idle_compute_counts_overlapping_batches_once() -> None:
    both = batches(batch(took=5000)), batches(batch(took=5000))
    given = history(flow(both[0]), flow(both[1], flow="other"), updates=(update(continuous=True),))
    assert given.busy(given.updates[0]) == (5.0, 3600.0)


def test_an_outage_that_goes_on_counts() -> None:
    given = history(updates=(update(NOW - timedelta(hours=3), NOW - timedelta(hours=2)),))
    assert given.longest_outage(NOW) == timedelta(hours=2)
    running = history(updates=(update(state=UpdateState.RUNNING),))
    assert running.longest_outage(NOW + timedelta(days=1)) == timedelta(0)


def test_a_place_is_where_it_is_declared() -> None:
    [finding] = result(CASES["watermark-set"][0](), "watermark-set").findings
    assert str(finding.place) == "orders.py:7"
    assert finding.measured == {"state_rows": 9}


def test_encryption_at_rest_is_seen_only_where_it_is_set() -> None:
    algorithm = {"spark.hadoop.fs.s3a.encryption.algorithm": "SSE-KMS"}
    assert status(facts(settings=replace(SETTINGS, conf=algorithm)), "storage-encrypted") is Status.PASS
    assert status(facts(), "storage-encrypted") is Status.NOT_APPLICABLE
    assert status(facts(storage="abfss://lake@shop.dfs.core.windows.net/orders"), "storage-encrypted") is Status.PASS
    assert status(facts(storage="/srv/orders"), "storage-encrypted") is Status.NOT_APPLICABLE


def test_batches_without_a_duration_are_not_judged_by_it() -> None:
    unknown = tuple(replace(each, progress=replace(each.progress, batch_duration_ms=None)) for each in ten())
    for rule in ("interval-short-enough", "interval-long-enough", "files-per-trigger"):
        given = facts(flow(unknown, sources=(("cloudFiles", "./data"),)), settings=CONTINUOUS)
        assert status(given, rule) is Status.NOT_APPLICABLE


def test_a_run_with_continuous_as_an_option_is_judged_as_one_that_goes_on() -> None:
    given = facts(history=history(flow(ten(adding=300)), updates=(update(continuous=True),)))
    [finding] = result(given, "interval-long-enough").findings
    assert "with trigger --continuous" in finding.evidence
    assert status(given, "metrics-published") is Status.FAIL
    earlier = replace(given, history=history(flow(ten(adding=300)), updates=(update(), update(continuous=True))))
    assert status(earlier, "metrics-published") is Status.NOT_APPLICABLE
