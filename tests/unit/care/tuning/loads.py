"""Measured loads for the advisers, without a storage."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.unit.care.doctor.pipelines import CLUSTER, NOW, SETTINGS, batch, batches, facts, flow

from penstock.care.doctor.facts import StorageFacts
from penstock.care.doctor.settings import SettingsFacts
from penstock.care.tuning.advice import Advice
from penstock.care.tuning.tuning import advise
from penstock.events.types import CheckpointedBatch
from penstock.observe.flows.activity import BatchSample, FlowActivity, Period
from penstock.observe.flows.cluster_use import ClusterUse
from penstock.observe.flows.history import Batch

HOUR = 3600.0
END = NOW.timestamp()
YARN = replace(CLUSTER, master="yarn", continuous=True, interval=600.0, trigger="processing_time 10 minutes")


def of_size(rows: int, *, count: int = 25, executors: int | None = None, **more: Any) -> tuple[Batch, ...]:
    """Batches of `rows` that take a second and 10 microseconds a row."""
    made = [batch(number, rows=rows, took=round(1000 + rows / 100), **more) for number in range(count)]
    return batches(*made, executors=[executors] * count if executors else ())


def activity(
    *rows_an_hour: int, samples: tuple[tuple[int, float], ...] = ((1_000, 2.0), (101_000, 3.0))
) -> FlowActivity:
    """Six batches an hour of so many rows together, the last hour ends now; `samples` are rows and seconds."""
    begin = END - HOUR * len(rows_an_hour)
    periods = [
        Period(begin + HOUR * hour, begin + HOUR * (hour + 1), rows, 6) for hour, rows in enumerate(rows_an_hour)
    ]
    found = FlowActivity(
        "shop.orders",
        "orders",
        batches=6 * len(periods),
        rows=sum(rows_an_hour),
        periods=periods,
        first=begin,
        last=END,
    )
    for rows, seconds in samples:
        sample = BatchSample(rows, round(1000 * seconds), first=False)
        found.samples.setdefault((False, rows.bit_length()), deque()).append(sample)
    return found


def kafka(partitions: int) -> CheckpointedBatch:
    offsets = {"orders": {"orders": {str(number): 10 for number in range(partitions)}}}
    return CheckpointedBatch("q", offsets)


def load(
    *made: Batch, settings: SettingsFacts = SETTINGS, known: FlowActivity | None = None, **more: Any
) -> StorageFacts:
    """A pipeline of one flow; `more` are of its definition."""
    given = {} if known is None else {"activity": (known,)}
    return facts(flow(made, **more), settings=settings, **given)


def with_conf(settings: SettingsFacts, **conf: str) -> SettingsFacts:
    """Returns the settings with entries of `spark_conf`, `__` for a dot."""
    return replace(settings, conf={**settings.conf, **{key.replace("__", "."): value for key, value in conf.items()}})


def on_cluster(given: StorageFacts, *, hours: float, lost: int = 0) -> StorageFacts:
    """The same after so many executor hours."""
    return replace(given, history=replace(given.history, cluster=ClusterUse(hours, lost)))


def after_outage(given: StorageFacts, outage: timedelta) -> StorageFacts:
    """The same, without a run for so long."""
    ended = given.history.updates[0].last_event_at
    return replace(given, now=ended + outage)


def all_advice(given: StorageFacts, setting: str, **files: tuple[int, ...]) -> list[Advice]:
    """Returns what is advised on one setting."""
    counts = {name.replace("__", "."): each for name, each in files.items()}
    return [each for each in advise(given, counts) if each.setting == setting]


def advice(given: StorageFacts, setting: str, *, flow: str | None = None, **files: tuple[int, ...]) -> Advice:
    """Returns the one advice on a setting, of the session or of a flow."""
    [found] = [each for each in all_advice(given, setting, **files) if each.flow == flow]
    return found
