"""The storage fails: for a moment, and all flows go on by themselves; or until they give up, and the next run goes on.

Or it is slow, and nothing but time is lost.

Six flows fail in one run, each in a call of its own; `failing_storage.py` says which, and why by Byteman.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.faults.failing_storage import (
    FAILING_AND_FULL,
    NO_LINKS,
    NO_SPACE,
    READS,
    REASON,
    WRITES,
    FailingFlows,
    Places,
    Switches,
)
from tests.faults.six_flows import KINDS, expected
from tests.oracle.tables import differences, read_table, stored
from tests.processes import wait_until

from penstock.events import Level, read_events

_LIMIT = 2  # retries of a run that is not continuous


@pytest.mark.timeout(600)
def test_a_storage_that_fails_each_flow_once_is_tried_again(
    spark: SparkSession, switches: Switches, tmp_path: Path
) -> None:
    project = FailingFlows(tmp_path / "six", spark)
    project.flows.arrive(2)
    with switches.failing(WRITES) as met:
        assert project.run() == ()
        assert met() == {*KINDS}
    assert project.flows.differing() == {}


@pytest.mark.timeout(600)
def test_flows_end_by_name_on_a_storage_that_fails_or_is_full_and_complete_on_a_slow_one(
    spark: SparkSession, switches: Switches, tmp_path: Path
) -> None:
    project, tables = FailingFlows(tmp_path / "six", spark), ("orders", "checked")
    project.flows.arrive()
    with switches.failing(FAILING_AND_FULL, "always") as met:
        errors = {error.dataset: error for error in project.run(*tables)}
        assert met() == FAILING_AND_FULL.keys()
    assert {name: error.condition for name, error in errors.items()} == {
        "shop.orders": "STORAGE_FAILED",
        "shop.checked": "STORAGE_FULL",
    }
    assert (REASON in str(errors["shop.orders"]), NO_SPACE in str(errors["shop.checked"])) == (True, True)
    failed = len(list(read_events(str(project.flows.storage))))
    with switches.slow():
        assert project.run(*tables) == ()
    slowly = list(read_events(str(project.flows.storage)))[failed:]
    assert [each.message for each in slowly if each.level is Level.ERROR or "tries again" in each.message] == []
    wanted = expected(project.flows.files)
    for name in (*tables, "checked__quarantine"):
        found = read_table(stored(project.flows.storage, "shop", name))
        assert differences(found, wanted[name], ("id", "amount")) == [], name


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_storage_that_cannot_be_read_once_is_tried_again(
    spark: SparkSession, switches: Switches, tmp_path: Path
) -> None:
    project = _project_that_has_run(tmp_path, spark)
    with switches.failing(READS) as met:
        assert project.run() == ()
        assert met() == {*KINDS}
    assert project.flows.differing() == {}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("places", [WRITES, READS], ids=["writes", "reads"])
def test_a_storage_that_goes_on_failing_ends_the_flows_and_the_next_run_completes(
    spark: SparkSession, switches: Switches, tmp_path: Path, places: Places
) -> None:
    project = _project_that_has_run(tmp_path, spark)
    with switches.failing(places, "always") as met:
        errors = project.run()
        assert met() == {*KINDS}
    assert {error.condition for error in errors} == {"STORAGE_FAILED"}
    assert all(REASON in str(error) for error in errors)
    assert project.run() == ()
    assert project.flows.differing() == {}


@pytest.mark.slow  # that it is an outage: tests/spark/test_translate.py; what follows: tests/unit/runtime/test_retry.py
@pytest.mark.timeout(900)
def test_a_continuous_run_waits_for_a_storage_as_long_as_it_fails(
    spark: SparkSession, switches: Switches, tmp_path: Path
) -> None:
    project = _project_that_has_run(tmp_path, spark)
    project.without_limit()
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        try:
            with switches.failing(WRITES, "always"):
                running = pool.submit(project.run, stop=stop)
                wait_until(
                    lambda: running.done() or min(_retries(project).values()) > _LIMIT,
                    timeout=300,
                    what="many retries",
                    interval=1,
                )
                assert not running.done(), running.result()
            wait_until(lambda: project.flows.differing() == {}, timeout=400, what="all tables", interval=1)
        finally:
            stop.set()
        assert running.result(60) == ()


def _retries(project: FailingFlows) -> Mapping[str, int]:
    """How often the flow of each table has been tried again."""
    events = [
        each
        for each in read_events(str(project.flows.storage))
        if "tries again" in each.message or "tried again" in each.message
    ]
    return {name: sum(str(each.origin.dataset_name) == f"shop.{name}" for each in events) for name in KINDS.values()}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_disk_without_hard_links_is_no_failure(spark: SparkSession, switches: Switches, tmp_path: Path) -> None:
    project = FailingFlows(tmp_path / "six", spark)
    project.flows.arrive(2)
    with switches.failing(NO_LINKS, "always") as met:
        assert project.run() == ()
        assert met() == {*KINDS}
    assert project.flows.differing() == {}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_slow_storage_costs_nothing_but_time(spark: SparkSession, switches: Switches, tmp_path: Path) -> None:
    project = _project_that_has_run(tmp_path, spark)
    seconds = _seconds_of_a_run(project)
    project.flows.arrive(1)
    with switches.slow():
        slower = _seconds_of_a_run(project)
    print(f"{seconds:.1f} s, on a slow storage {slower:.1f} s")
    assert slower > seconds + 5  # so the storage was slow
    assert [each for each in read_events(str(project.flows.storage)) if each.level is Level.ERROR] == []
    assert project.flows.differing() == {}


def _seconds_of_a_run(project: FailingFlows) -> float:
    started = time.monotonic()
    assert project.run() == ()
    return time.monotonic() - started


def _project_that_has_run(folder: Path, spark: SparkSession) -> FailingFlows:
    project = FailingFlows(folder / "six", spark)
    project.flows.arrive(2)
    assert project.run() == ()
    project.flows.arrive(2)
    return project
