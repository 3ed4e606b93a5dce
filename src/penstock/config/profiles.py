"""Spark settings that belong together, chosen by one key of the pipeline file; none of them changes a row.

The settings are Spark's own, from its pages "Job Scheduling", "Configuration" and "Spark Security".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from penstock.config.values.interval import parse_interval
from penstock.config.values.trigger import Trigger

_IDLE_SECONDS: Final = 60.0
STANDALONE_KEY: Final = "spark.authenticate.secret"
"""What a standalone cluster needs besides: YARN and Kubernetes hand out a secret for each application."""

DRIVER_POD: Final = "PENSTOCK_DRIVER_POD"
"""The variable with the name of the driver's pod: Spark makes it the owner of the executors, which end with it."""


@dataclass(frozen=True, slots=True)
class Profiled:
    """One setting of a profile: its value, or a function of the pipeline's trigger, and why."""

    key: str
    value: str | Callable[[Trigger], str]
    reason: str


def _idle(trigger: Trigger) -> str:
    between = parse_interval(trigger.interval) if trigger.interval else 0.0
    return f"{max(_IDLE_SECONDS, 2 * between):.0f}s"


ELASTIC: Final = (
    Profiled("spark.dynamicAllocation.enabled", "true", "executors come with the tasks that wait, and go when idle"),
    Profiled(
        "spark.dynamicAllocation.shuffleTracking.enabled",
        "true",
        "an executor whose shuffle files are still needed stays; no shuffle service has to be installed",
    ),
    Profiled("spark.dynamicAllocation.minExecutors", "0", "between the batches of a slow source nothing is paid for"),
    Profiled(
        "spark.dynamicAllocation.executorIdleTimeout",
        _idle,
        "60 s, or twice the trigger's interval: else executors would go between two batches, and each batch would load "
        "its state again",
    ),
    Profiled(
        "spark.dynamicAllocation.shuffleTracking.timeout",
        "300s",
        "Spark would keep an executor with shuffle files until the driver collects garbage: with a small driver, for "
        "ever. A file that is needed after all is computed again",
    ),
    Profiled(
        "spark.dynamicAllocation.cachedExecutorIdleTimeout",
        "1800s",
        "Spark would keep an executor with cached blocks for ever",
    ),
    Profiled("spark.decommission.enabled", "true", "a decommissioned executor takes no more tasks"),
    Profiled(
        "spark.storage.decommission.enabled",
        "true",
        "and hands its shuffle files and cached blocks to others, so that no finished task runs again",
    ),
    Profiled("spark.storage.decommission.rddBlocks.enabled", "true", "as spark.storage.decommission.enabled"),
    Profiled("spark.storage.decommission.shuffleBlocks.enabled", "true", "as spark.storage.decommission.enabled"),
    Profiled(
        "spark.task.maxFailures",
        "8",
        "a spot machine that goes without notice fails its tasks; four such losses of one task would fail the batch",
    ),
)
"""`cluster: {elastic: true}`: executors that come and go, also those of spot machines."""

SECURED: Final = (
    Profiled("spark.authenticate", "true", "no other process can send tasks or messages to driver and executors"),
    Profiled(
        "spark.network.crypto.enabled", "true", "what driver and executors send each other is encrypted (AES, GCM)"
    ),
    Profiled(
        "spark.network.crypto.cipher",
        "AES/GCM/NoPadding",
        "the cipher that also notices a changed message; Spark's default does not",
    ),
    Profiled(
        "spark.io.encryption.enabled",
        "true",
        "shuffle files, spilled rows and cached blocks are encrypted on local disks. The working copy of a RocksDB "
        "state store, under spark.local.dir, is not: encrypt that disk",
    ),
    Profiled("spark.ui.enabled", "false", "the page of Spark has no login"),
)
"""`security: {cluster: true}`: closed doors between driver and executors."""


def profile_settings(*, elastic: bool, secured: bool, master: str, trigger: Trigger) -> dict[str, str]:
    """Returns the settings of the profiles that are chosen, none for a local master; those of `spark_conf` win."""
    if master.startswith("local"):
        return {}
    chosen = (*(ELASTIC if elastic else ()), *(SECURED if secured else ()))
    return {each.key: each.value if isinstance(each.value, str) else each.value(trigger) for each in chosen}
