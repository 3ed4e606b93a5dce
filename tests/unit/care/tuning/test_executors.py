"""Advice on dynamic allocation, and on executors that are lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.unit.care.doctor.pipelines import NOW, batch
from tests.unit.care.tuning.loads import YARN, activity, advice, all_advice, load, of_size, on_cluster, with_conf

from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.settings import SettingsFacts
from penstock.care.tuning.advice import Verdict
from penstock.observe.flows.history import Batch

DYNAMIC = "spark.dynamicAllocation.enabled"
LEAST, MOST = "spark.dynamicAllocation.minExecutors", "spark.dynamicAllocation.maxExecutors"
FAILURES = "spark.task.maxFailures"
DECOMMISSION, STORAGE = "spark.decommission.enabled", "spark.storage.decommission.enabled"
SPOT = (FAILURES, DECOMMISSION, STORAGE)

USUAL, BUSY = 6_000_000, 200_000_000
"""Rows of an hour, in six batches: 72 seconds of work, and 2,012."""


def every(minutes: float, *, executors: int = 10) -> list[Batch]:
    """Batches of two seconds, so many minutes apart."""
    return [
        Batch(NOW - timedelta(minutes=minutes * (25 - at)), "u", batch(at, rows=1_000, took=2_000), executors)
        for at in range(25)
    ]


def cluster(*, minutes: float = 10.0, hours: int = 30, settings: SettingsFacts = YARN) -> StorageFacts:
    """A day of hours of which one is busy."""
    known = activity(*[USUAL] * (hours - 1), BUSY)
    return load(*every(minutes), settings=settings, known=known)


def test_a_busy_hour_and_pauses_make_dynamic_allocation_pay() -> None:
    given = cluster()
    found = advice(given, DYNAMIC)
    assert (found.verdict, found.now, found.advised) == (Verdict.CHANGE, "false", "true")
    assert found.measured["executors_median_hour"] == 1
    assert found.measured["executors_busiest_hour"] == 8  # 10 x 2,012 s / (3,600 s x 0.7)
    assert found.measured["hours"] == 30
    assert [(each.verdict, each.advised) for name in (LEAST, MOST) for each in all_advice(given, name)] == [
        (Verdict.CHANGE, "1"),
        (Verdict.CHANGE, "8"),
    ]


def test_bounds_that_fit_are_right() -> None:
    bounds = {"spark__dynamicAllocation__minExecutors": "1", "spark__dynamicAllocation__maxExecutors": "8"}
    settings = with_conf(YARN, spark__dynamicAllocation__enabled="true", **bounds)
    given = cluster(settings=settings)
    assert {advice(given, name).verdict for name in (DYNAMIC, LEAST, MOST)} == {Verdict.KEEP}


def test_executors_are_never_idle_between_short_batches() -> None:
    given = cluster(minutes=0.5)
    assert advice(given, DYNAMIC).verdict is Verdict.KEEP  # it is off
    assert {advice(given, name).verdict for name in (LEAST, MOST)} == {Verdict.NOT_APPLICABLE}
    on = cluster(minutes=0.5, settings=with_conf(YARN, spark__dynamicAllocation__enabled="true"))
    assert advice(on, DYNAMIC).advised == "false"
    quicker = with_conf(YARN, spark__dynamicAllocation__executorIdleTimeout="20s")
    assert advice(cluster(minutes=0.5, settings=quicker), DYNAMIC).advised == "true"


def test_less_than_a_day_of_arrivals_is_too_little() -> None:
    for name in (DYNAMIC, LEAST, MOST):
        found = advice(cluster(hours=5), name)
        assert (found.verdict, found.advised) == (Verdict.TOO_LITTLE, None)
        assert found.evidence.endswith("hours of arrivals, 24 are needed.")
    few = load(*of_size(100, count=3, executors=2), settings=YARN, known=activity(*[USUAL] * 30))
    assert advice(few, DYNAMIC).evidence == "shop.orders: 3 batches with rows, 20 are needed."


def test_a_run_that_stops_gives_its_executors_back() -> None:
    stopping = replace(YARN, continuous=False, trigger="available_now", interval=None)
    found = advice(cluster(settings=stopping), DYNAMIC)
    assert (found.verdict, found.evidence) == (
        Verdict.NOT_APPLICABLE,
        "The trigger is available_now: a run takes what is there, and gives its executors back.",
    )


@pytest.mark.parametrize("setting", [DYNAMIC, LEAST, MOST, *SPOT])
def test_a_local_master_has_no_executors(setting: str) -> None:
    found = advice(load(*of_size(100)), setting)
    assert (found.verdict, found.evidence) == (Verdict.NOT_APPLICABLE, "There are no executors (master local[2]).")


def test_rare_losses_leave_four_failures_and_want_decommissioning() -> None:
    given = on_cluster(cluster(), hours=1_000, lost=2)
    failures = advice(given, FAILURES)
    assert (failures.verdict, failures.now, failures.advised) == (Verdict.KEEP, "4", "4")
    assert failures.evidence.startswith("In 1,000 executor hours 2 executors were lost; a batch takes 2.0 s")
    for name in (DECOMMISSION, STORAGE):
        assert (advice(given, name).now, advice(given, name).advised) == ("false", "true")


def test_frequent_losses_of_long_batches_want_more_failures() -> None:
    slow = [replace(each, progress=replace(each.progress, batch_duration_ms=600_000)) for each in every(10.0)]
    given = on_cluster(load(*slow, settings=YARN, known=activity(*[USUAL] * 30)), hours=100, lost=50)
    found = advice(given, FAILURES)
    # p = 1 - exp(-0.5 / 6) = 0.080; 864,000 tasks a month; 0.01 / 864,000 = p^7.23
    assert (found.verdict, found.advised) == (Verdict.CHANGE, "8")
    assert found.measured["tasks_a_month"] == 864_000
    more = with_conf(YARN, spark__task__maxFailures="10")
    assert advice(replace(given, settings=more), FAILURES).verdict is Verdict.KEEP


def test_without_losses_everything_stays() -> None:
    given = on_cluster(cluster(), hours=1_000)
    assert {advice(given, name).verdict for name in SPOT} == {Verdict.KEEP}
    assert advice(given, DECOMMISSION).evidence == "In 1,000 executor hours no executor was lost."
    on = with_conf(YARN, spark__decommission__enabled="true")
    assert advice(replace(given, settings=on), DECOMMISSION).verdict is Verdict.KEEP


def test_few_executor_hours_are_too_little() -> None:
    for name in SPOT:
        found = advice(on_cluster(cluster(), hours=3, lost=1), name)
        assert (found.verdict, found.evidence) == (
            Verdict.TOO_LITTLE,
            "3.0 executor hours are in the log, 24 are needed.",
        )
