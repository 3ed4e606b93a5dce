"""The cluster of a session that has started: what the driver knows of it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from pyspark.sql import SparkSession

from penstock.spark.accelerators.own_classes import SHARED_STORAGE
from penstock.spark.session.ask_within import ask_within
from penstock.spark.session.cluster.kubernetes_pods import pending_pod
from penstock.spark.session.defaults import Machine
from penstock.spark.session.driver_log import MasterState, cause_of_executors
from penstock.storage import local_path

_POD_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """The cluster at one moment.

    `num_executors` are registered with the driver. `waiting` is False when none is needed: with dynamic allocation, an
    idle application has no executors. `stopped` is True when Spark has stopped the application. `unshared` are the host
    of an executor that does not see the storage or a table on a local path, that path, and how it was noticed.
    """

    num_executors: int
    master_lost: bool = False
    waiting: bool = True
    stopped: bool = False
    unshared: tuple[str, str, str] | None = None


class Cluster:
    """The cluster of a running session; not thread-safe but for `num_lost`. `log` is the driver's log.

    `num_lost` is how many executors have gone, as far as has been looked; others may have taken their places.
    """

    def __init__(self, spark: SparkSession, log: Path) -> None:
        context = spark.sparkContext
        self.master = str(context.master)
        self.log = log
        self.num_lost = 0
        self.dynamic = context.getConf().get("spark.dynamicAllocation.enabled", "false") == "true"
        self._guarded = SHARED_STORAGE in context.getConf().get("spark.plugins", "")
        self._jvm: Any = context._jvm
        self._context: Any = context._jsc.sc()
        self._state = MasterState(log)
        self._addresses: frozenset[str] = frozenset()

    @staticmethod
    def of(spark: SparkSession, log: Path | None) -> Cluster | None:
        """Returns the cluster; None when tasks run in the driver itself, or the session is another one's."""
        if log is None or Machine.of(str(spark.sparkContext.master)).local:
            return None
        return Cluster(spark, log)

    def look(self) -> ClusterSnapshot:
        """Asks the driver, which sends no request itself.

        Raises:
            Py4JError, OSError: the JVM has ended.
        """
        lost = self._state.look()
        if self._context.isStopped():
            return ClusterSnapshot(0, lost, stopped=True, unshared=self._unshared())
        tracker = self._context.statusTracker()
        addresses = frozenset(str(self._context.getExecutorMemoryStatus().keys().mkString(",")).split(","))
        self.num_lost += len(self._addresses - addresses)
        self._addresses = addresses
        executors = len(tracker.getExecutorInfos()) - 1  # the driver is one of them
        waiting = executors > 0 or not self.dynamic or len(tracker.getActiveStageIds()) > 0
        return ClusterSnapshot(executors, lost, waiting, unshared=self._unshared())

    def _unshared(self) -> tuple[str, str, str] | None:
        if not self._guarded or (refusal := self._jvm.penstock.cluster.SharedStorage.refusal()) is None:
            return None
        host, folder, reason = str(refusal).split("\n", 2)
        return host, unquote(local_path(folder)), reason

    def why_no_executors(self) -> str | None:
        """Returns why none runs: what a pending pod waits for, else what the log says; None without either."""
        if self.master.startswith("k8s://"):
            with suppress(TimeoutError):
                return ask_within(_POD_SECONDS, lambda: pending_pod(self._context)) or cause_of_executors(self.log)
        return cause_of_executors(self.log)
