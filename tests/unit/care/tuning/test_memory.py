"""Advice on the memory of the driver and of executors."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.care.doctor.pipelines import CLUSTER, SETTINGS, checkpoint, facts, state
from tests.unit.care.tuning.loads import YARN, advice, load, of_size, with_conf

from penstock.care.doctor.facts import StorageFacts
from penstock.care.tuning.advice import Verdict
from penstock.storage.jvm_counters import JvmMemory
from penstock.storage.process_resources import ProcessResources

DRIVER, EXECUTOR, OVERHEAD = "spark.driver.memory", "spark.executor.memory", "spark.executor.memoryOverhead"
GB = 1 << 30
DAYS = 2 * 86_400.0
STORES = "org.apache.spark.sql.execution.streaming.state"


def running(used: float, *, collecting: float = 0.01, seconds: float = 3600.0, now: str = "3g") -> StorageFacts:
    """A driver with a heap of 3 GB, of which the old generation is two; `used` of it is full."""
    memory = JvmMemory(int(used * 2 * GB), 2 * GB, collecting * seconds, seconds)
    process = ProcessResources(7, "java", 10, 1024, 20, memory=memory)
    return facts(processes=(process,), settings=with_conf(SETTINGS, spark__driver__memory=now))


@pytest.mark.parametrize(("used", "collecting", "advised"), [(0.9, 0.01, "4608m"), (0.5, 0.2, "4608m")])
def test_a_full_heap_or_much_collection_needs_more(used: float, collecting: float, advised: str) -> None:
    found = advice(running(used, collecting=collecting), DRIVER)
    assert (found.verdict, found.now, found.advised) == (Verdict.CHANGE, "3g", advised)
    assert found.measured["gc_percent"] == pytest.approx(100 * collecting)


def test_a_heap_in_between_is_right() -> None:
    found = advice(running(0.6), DRIVER)
    assert (found.verdict, found.advised) == (Verdict.KEEP, "3g")
    assert found.evidence == (
        "The old generation holds 1.3 GB of 2.1 GB (60%), and 1.0% of 1 h was garbage collection (1 reading)."
    )


@pytest.mark.parametrize(
    ("seconds", "collecting", "advised"), [(DAYS, 0.01, "1g"), (3600.0, 0.01, "3g"), (DAYS, 0.05, "3g")]
)
def test_less_is_advised_only_after_a_quiet_day(seconds: float, collecting: float, advised: str) -> None:
    assert advice(running(0.1, seconds=seconds, collecting=collecting), DRIVER).advised == advised


def test_a_heap_is_read_from_a_run_of_ten_minutes() -> None:
    found = advice(running(0.9, seconds=180.0), DRIVER)
    assert (found.verdict, found.evidence) == (Verdict.TOO_LITTLE, "The JVM has run for 3 min, 10 minutes are needed.")
    assert advice(facts(), DRIVER).evidence.startswith("No run works on this machine now")
    assert advice(running(0.9, now="much"), DRIVER).evidence == "`much` is no size."


def with_state(held: int, provider: str, *, count: int = 25, memory: str = "2g") -> StorageFacts:
    """A flow with so many bytes of state on two executors."""
    recorded = checkpoint(spark__sql__streaming__stateStore__providerClass=f"{STORES}.{provider}")
    made = of_size(100, count=count, executors=2, **state(1_000, size=held))
    settings = with_conf(YARN, spark__executor__memory=memory)
    return load(*made, settings=settings, stateful=("aggregate",), checkpoint=recorded)


@pytest.mark.parametrize(
    ("memory", "verdict", "advised"), [("2g", Verdict.CHANGE, "5632m"), ("6g", Verdict.KEEP, "6g")]
)
def test_two_versions_of_the_state_fit_into_the_part_for_user_objects(
    memory: str, verdict: Verdict, advised: str
) -> None:
    # 300 MiB + 2 x 1 GiB / 0.4 = 5,420 MiB
    found = advice(with_state(2 * GB, "HDFSBackedStateStoreProvider", memory=memory), EXECUTOR)
    assert (found.verdict, found.now, found.advised) == (verdict, memory, advised)
    assert found.measured == {"state_bytes": 2 * GB, "executors": 2}


def test_without_state_on_the_heap_nothing_is_known_of_it() -> None:
    found = advice(with_state(2 * GB, "RocksDBStateStoreProvider"), EXECUTOR)
    assert (found.verdict, found.advised) == (Verdict.TOO_LITTLE, None)
    assert "is not recorded" in found.evidence


def test_state_of_few_batches_is_too_little() -> None:
    found = advice(with_state(2 * GB, "HDFSBackedStateStoreProvider", count=3), EXECUTOR)
    assert (found.verdict, found.evidence) == (
        Verdict.TOO_LITTLE,
        "shop.orders: 3 batches with rows, 20 are needed.",
    )


def bounded(given: StorageFacts, **conf: str) -> StorageFacts:
    assert given.settings is not None
    rocks = "spark__sql__streaming__stateStore__rocksdb"
    most = {f"{rocks}__boundedMemoryUsage": "true", f"{rocks}__maxMemoryUsageMB": "512"}
    return replace(given, settings=with_conf(given.settings, **most, **conf))


@pytest.mark.parametrize(
    ("memory", "conf", "now", "verdict"),
    [
        ("2g", {}, "384m", Verdict.CHANGE),
        ("2g", {"spark__executor__memoryOverhead": "512m"}, "512m", Verdict.CHANGE),
        ("2g", {"spark__executor__memoryOverhead": "1g"}, "1g", Verdict.KEEP),
        ("10g", {}, "1024m", Verdict.KEEP),
        ("2g", {"spark__executor__memoryOverheadFactor": "0.4"}, "819m", Verdict.CHANGE),
        ("4g", {"spark__executor__memoryOverheadFactor": "0.4"}, "1638m", Verdict.KEEP),
    ],
)
def test_the_overhead_has_room_for_rocksdb(memory: str, conf: dict[str, str], now: str, verdict: Verdict) -> None:
    found = advice(bounded(with_state(1_000, "RocksDBStateStoreProvider", memory=memory), **conf), OVERHEAD)
    assert (found.verdict, found.now) == (verdict, now)
    assert found.advised == ("896m" if verdict is Verdict.CHANGE else now)


def test_the_least_overhead_that_is_configured_is_kept_beside_rocksdb() -> None:
    given = with_state(1_000, "RocksDBStateStoreProvider", memory="2g")
    found = advice(bounded(given, spark__executor__minMemoryOverhead="512m"), OVERHEAD)
    assert (found.verdict, found.now, found.advised) == (Verdict.CHANGE, "512m", "1024m")


def test_rocksdb_without_a_bound_is_too_little() -> None:
    assert advice(with_state(1_000, "RocksDBStateStoreProvider"), OVERHEAD).verdict is Verdict.TOO_LITTLE


def test_containers_without_rocksdb_and_masters_without_containers_have_no_overhead() -> None:
    for given in (
        with_state(1_000, "HDFSBackedStateStoreProvider"),
        replace(with_state(1_000, "RocksDBStateStoreProvider"), settings=CLUSTER),
    ):
        assert advice(given, OVERHEAD).verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize("setting", [EXECUTOR, OVERHEAD])
def test_a_local_master_has_no_executors(setting: str) -> None:
    found = advice(load(*of_size(100)), setting)
    assert (found.verdict, found.evidence) == (Verdict.NOT_APPLICABLE, "There are no executors (master local[2]).")
