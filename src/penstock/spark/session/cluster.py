"""The cluster of a session: a limit for the start, and what the driver knows of it then."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.errors import ExternalError
from penstock.spark.session.defaults import Machine
from penstock.spark.session.driver_log import MasterState, cause, yarn_has_answered
from penstock.spark.session.driver_process import DriverProcess
from penstock.spark.session.launch import SessionConfig


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """The cluster at one moment.

    `num_executors` are registered with the driver. `waiting` is False when none is needed: with dynamic allocation, an
    idle application has no executors. `stopped` is True when Spark has stopped the application.
    """

    num_executors: int
    master_lost: bool = False
    waiting: bool = True
    stopped: bool = False


class Cluster:
    """The cluster of a running session; not thread-safe. `log` is the driver's log."""

    def __init__(self, spark: SparkSession, log: Path) -> None:
        context = spark.sparkContext
        self.master = str(context.master)
        self.log = log
        self.dynamic = context.getConf().get("spark.dynamicAllocation.enabled", "false") == "true"
        self._context: Any = context._jsc.sc()
        self._state = MasterState(log)

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
            return ClusterSnapshot(0, lost, stopped=True)
        tracker = self._context.statusTracker()
        executors = len(tracker.getExecutorInfos()) - 1  # the driver is one of them
        waiting = executors > 0 or not self.dynamic or len(tracker.getActiveStageIds()) > 0
        return ClusterSnapshot(executors, lost, waiting)


@contextmanager
def start_limit(driver: DriverProcess, config: SessionConfig) -> Iterator[None]:
    """Around the start of a SparkContext: kills its JVM after `cluster_timeout`.

    A local master has no limit; nor has an application that YARN has taken into its queue.

    Raises:
        ExternalError: CLUSTER_START_TIMEOUT, with the cause that the driver's log has.
    """
    if not config.on_cluster:
        yield
        return
    exceeded: list[ExternalError] = []
    log, seconds = driver.log, config.cluster_timeout

    def kill() -> None:
        if config.master == "yarn" and yarn_has_answered(log):
            return
        reason, shown = cause(log, or_warning=True) or "it does not answer", f"{seconds:g}"
        exceeded.append(
            ExternalError("CLUSTER_START_TIMEOUT", master=config.master, seconds=shown, reason=reason, log=log)
        )
        driver.process.kill()

    limit = threading.Timer(seconds, kill)
    limit.daemon = True
    limit.start()
    try:
        yield
    finally:
        limit.cancel()
        limit.join()
        if exceeded:
            raise exceeded[0] from None
