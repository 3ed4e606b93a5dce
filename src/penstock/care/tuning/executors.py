"""How many executors there are, and what happens when one is lost."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from statistics import median
from typing import Final

from penstock.care.doctor.checks.outcome import counted, keeps_going
from penstock.care.tuning.advice import Advice, change, keep, not_applicable, too_little
from penstock.care.tuning.load import DAY, HOUR, FlowLoad, PipelineLoad, percentile, shares_by_hour
from penstock.care.tuning.partitions import SHUFFLE
from penstock.observe.numbers import duration_ms

_DYNAMIC: Final = "spark.dynamicAllocation.enabled"
_LEAST: Final = "spark.dynamicAllocation.minExecutors"
_MOST: Final = "spark.dynamicAllocation.maxExecutors"
_ALL: Final = (_DYNAMIC, _LEAST, _MOST)
_IDLE: Final = "spark.dynamicAllocation.executorIdleTimeout"
_SECONDS: Final = {"ms": 0.001, "": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": DAY}
_HOURS: Final = 24
_BUSY: Final = 0.7
_SPREAD: Final = 2.0

_FAILURES: Final = "spark.task.maxFailures"
_DECOMMISSION: Final = "spark.decommission.enabled"
_STORAGE: Final = "spark.storage.decommission.enabled"
_SPARK_FAILURES: Final = 4
_EXECUTOR_HOURS: Final = 24.0
_MONTH: Final = 30 * DAY
_ACCEPTED: Final = 0.01
_SPARK_PARTITIONS: Final = 200


def dynamic_allocation(load: PipelineLoad) -> Iterator[Advice]:
    """Advises on dynamic allocation and its bounds, by how busy the cluster was in each hour of the log.

    Spark's guide: an executor is removed when it has been idle for `executorIdleTimeout`, 60 seconds by default.
    """
    reason = _not_judged(load)
    if reason is not None:
        advice = not_applicable if load.settings.local or not keeps_going(load.facts, load.settings) else too_little
        for name in _ALL:
            yield advice(name, reason)
        return
    executors, busy = load.executors or 1, _busy_by_hour(load)
    usual, most = (_needed(executors, percentile([(each, 1) for each in busy], share)) for share in (0.5, 1.0))
    pause, idle = _pause(load), _idle_timeout(load)
    pays = pause > idle and most >= _SPREAD * usual
    evidence = (
        f"The median of {len(busy)} hours needs {counted(usual, 'executor')}, the busiest {most}; between batches are "
        f"{duration_ms(1000 * pause)}, an executor is removed after {duration_ms(1000 * idle)}."
    )
    measured = {
        "hours": len(busy),
        "executors": executors,
        "executors_median_hour": usual,
        "executors_busiest_hour": most,
        "pause_seconds": round(pause, 1),
    }
    on = load.conf(_DYNAMIC, "false").casefold() == "true"
    yield _boolean(_DYNAMIC, pays, load, evidence, measured)
    if not pays:
        for name in (_LEAST, _MOST):
            yield not_applicable(
                name, "Dynamic allocation is not advised.", now=load.settings.conf.get(name) if on else None
            )
        return
    for name, value in ((_LEAST, usual), (_MOST, most)):
        now = load.settings.conf.get(name)
        if now == str(value):
            yield keep(name, evidence, now, measured=measured)
        else:
            yield change(name, evidence, now, str(value), measured=measured)


def _not_judged(load: PipelineLoad) -> str | None:
    if load.settings.local:
        return load.no_executors
    if not keeps_going(load.facts, load.settings):
        return f"The trigger is {load.settings.trigger}: a run takes what is there, and gives its executors back."
    if load.executors is None:
        return load.cores_missing
    short = next((each for each in load.flows if each.flow.with_rows and not each.enough), None)
    if short is not None:
        return f"{short.name}: {short.missing}"
    hours = len(_busy_by_hour(load))
    return f"{counted(hours, 'hour')} of arrivals, {_HOURS} are needed." if hours < _HOURS else None


def _needed(executors: int, busy_seconds: float) -> int:
    return max(math.ceil(executors * busy_seconds / (HOUR * _BUSY)), 1)


def _busy_by_hour(load: PipelineLoad) -> list[float]:
    """The seconds that the batches of all flows need in each hour, one after the other: an upper bound."""
    hours: defaultdict[int, float] = defaultdict(float)
    for flow in load.flows:
        time = flow.time
        if time is None:
            continue
        for period in flow.periods:
            work = max(period.batches, 1) * time.seconds(round(period.rows / max(period.batches, 1)))
            for hour, share in shares_by_hour(period):
                hours[hour] += share * work
    return [hours.get(hour, 0.0) for hour in range(min(hours), max(hours) + 1)] if hours else []


def _pause(load: PipelineLoad) -> float:
    """The median of the seconds in which no flow has a batch with rows, of the newest batches."""
    spans = sorted(
        (each.at - timedelta(milliseconds=each.progress.batch_duration_ms or 0), each.at)
        for flow in load.flows
        for each in flow.flow.with_rows
    )
    pauses, reached = list[float](), spans[0][1]
    for (_, before), (start, end) in pairwise(spans):
        reached = max(reached, before)
        pauses.append(max((start - reached).total_seconds(), 0.0))
        reached = max(reached, end)
    return median(pauses) if pauses else 0.0


def _idle_timeout(load: PipelineLoad) -> float:
    """The seconds after which an idle executor is removed, in Spark's spelling of times; without a unit seconds."""
    found = re.fullmatch(r"(\d+) ?(ms|s|m|min|h|d|)", load.conf(_IDLE, "60s").casefold())
    return 60.0 if found is None else int(found.group(1)) * _SECONDS[found.group(2)]


def task_failures(load: PipelineLoad) -> Iterator[Advice]:
    """Advises on how often a task may be lost, by how often executors were.

    With `lost` executors in so many executor hours a task of `d` hours is lost with p = 1 - exp(-d lost / hours); of n
    tasks a month n p^k fail k times in a row, and with them their batch.
    """
    now = load.conf(_FAILURES, str(_SPARK_FAILURES))
    reason = _losses_not_known(load)
    if reason is not None:
        yield not_applicable(_FAILURES, reason) if load.settings.local else too_little(_FAILURES, reason, now=now)
        return
    use, measured_flows = load.facts.history.cluster, [each for each in load.flows if each.enough]
    if not measured_flows:
        yield too_little(_FAILURES, "No flow has had 20 batches with rows.", now=now)
        return
    seconds = max(_batch_seconds(each) for each in measured_flows)
    tasks = sum(_batches_a_month(each) for each in measured_flows) * load.number(SHUFFLE, _SPARK_PARTITIONS)
    lost = 1 - math.exp(-seconds / HOUR * use.lost / use.executor_hours)
    needed = _SPARK_FAILURES
    if lost > 0:
        needed = max(needed, math.ceil(math.log(_ACCEPTED / max(tasks, 1)) / math.log(lost)))
    evidence = f"{_losses(load)}; a batch takes {duration_ms(1000 * seconds)}, and {tasks:,.0f} tasks run a month."
    measured = {
        "executors_lost": use.lost,
        "executor_hours": round(use.executor_hours, 1),
        "batch_seconds": round(seconds, 1),
        "tasks_a_month": round(tasks),
    }
    if now.isdecimal() and int(now) >= needed:
        yield keep(_FAILURES, evidence, now, measured=measured)
    else:
        yield change(_FAILURES, evidence, now, str(needed), measured=measured)


def decommissioning(load: PipelineLoad) -> Iterator[Advice]:
    """Advises on decommissioning: an executor that its cluster takes away is told so before (`SIGPWR`, Kubernetes)."""
    reason = _losses_not_known(load)
    use = load.facts.history.cluster
    measured = {"executors_lost": use.lost, "executor_hours": round(use.executor_hours, 1)}
    for name in (_DECOMMISSION, _STORAGE):
        if reason is not None:
            yield (not_applicable if load.settings.local else too_little)(name, reason)
        else:
            yield _boolean(name, use.lost > 0, load, f"{_losses(load)}.", measured, off_is_advised=False)


def _losses_not_known(load: PipelineLoad) -> str | None:
    if load.settings.local:
        return load.no_executors
    hours = load.facts.history.cluster.executor_hours
    if hours < _EXECUTOR_HOURS:
        return f"{hours:.1f} executor hours are in the log, {_EXECUTOR_HOURS:.0f} are needed."
    return None


def _losses(load: PipelineLoad) -> str:
    use = load.facts.history.cluster
    lost = counted(use.lost, "executor") if use.lost else "no executor"
    return f"In {use.executor_hours:,.0f} executor hours {lost} {'were' if use.lost > 1 else 'was'} lost"


def _batch_seconds(load: FlowLoad) -> float:
    known = [(each.progress.batch_duration_ms or 0, 1) for each in load.flow.with_rows]
    return percentile(known, 0.95) / 1000


def _batches_a_month(load: FlowLoad) -> float:
    activity = load.activity
    if activity is None or activity.first is None or activity.last is None or activity.last <= activity.first:
        return len(load.flow.batches)
    return activity.batches * _MONTH / (activity.last - activity.first)


def _boolean(
    name: str,
    advised: bool,
    load: PipelineLoad,
    evidence: str,
    measured: dict[str, float],
    *,
    off_is_advised: bool = True,
) -> Advice:
    now = load.conf(name, "false").casefold()
    if now == str(advised).casefold() or (now == "true" and not off_is_advised):
        return keep(name, evidence, now, measured=measured)
    return change(name, evidence, now, str(advised).casefold(), measured=measured)
