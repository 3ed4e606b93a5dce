"""How long a cluster may take to accept an application, and why it has not."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from pyspark import SparkContext

from penstock.errors import ExternalError
from penstock.spark.session.ask_within import ask_within
from penstock.spark.session.cluster.yarn_queue import take_out_of_queue
from penstock.spark.session.driver_log import cause, kubernetes_refusal, yarn_application, yarn_has_answered
from penstock.spark.session.driver_process import DriverProcess
from penstock.spark.session.launch import SessionConfig

_LOOK_SECONDS: Final = 1.0
_ANSWER_SECONDS: Final = 10.0
"""How long a resource manager may take to answer about the application that waits in its queue."""


@contextmanager
def start_limit(driver: DriverProcess, config: SessionConfig) -> Iterator[None]:
    """Around the start of a SparkContext: kills its JVM after `cluster_timeout`.

    A local master has no limit. On YARN an upload has none, nor has an application master that starts: YARN has a limit
    of its own for that. An application that waits in the queue is taken out of it.

    Raises:
        ExternalError: CLUSTER_START_TIMEOUT, KUBERNETES_REFUSED or YARN_QUEUE_TIMEOUT, with the cause.
    """
    if not config.on_cluster:
        yield
        return
    exceeded: list[ExternalError] = []
    ended = threading.Event()

    def watch() -> None:
        since = time.monotonic()
        while not ended.wait(min(_LOOK_SECONDS, config.cluster_timeout)):
            if _uploads(config, driver.log):
                since = time.monotonic()
            if time.monotonic() - since < config.cluster_timeout:
                continue
            error = _why(config, driver.log)
            if error is not None:
                exceeded.append(error)
                driver.process.kill()
                return
            since = time.monotonic()

    thread = threading.Thread(target=watch, name="start limit", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        if exceeded:
            raise exceeded[0] from None


def refused_by_kubernetes(master: str, log: Path) -> ExternalError | None:
    """Returns KUBERNETES_REFUSED when the API server has refused what Spark asked for."""
    reason = kubernetes_refusal(log) if master.startswith("k8s://") else None
    return None if reason is None else ExternalError("KUBERNETES_REFUSED", master=master, reason=reason, log=log)


def _uploads(config: SessionConfig, log: Path) -> bool:
    return config.master == "yarn" and yarn_has_answered(log) and yarn_application(log) is None


def _why(config: SessionConfig, log: Path) -> ExternalError | None:
    """Returns what ends the start after `cluster_timeout`; None for an application master that starts."""
    seconds = f"{config.cluster_timeout:g}"
    application = yarn_application(log) if config.master == "yarn" else None
    if application is not None:
        with suppress(TimeoutError):
            waits = ask_within(_ANSWER_SECONDS, lambda: take_out_of_queue(SparkContext._jvm, application))
            if waits is None:
                return None
            return ExternalError("YARN_QUEUE_TIMEOUT", seconds=seconds, reason=waits, log=log)
    if refused := refused_by_kubernetes(config.master, log):
        return refused
    reason = cause(log, or_warning=True) or "it does not answer"
    return ExternalError("CLUSTER_START_TIMEOUT", master=config.master, seconds=seconds, reason=reason, log=log)
