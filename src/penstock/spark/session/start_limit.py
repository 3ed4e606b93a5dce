"""Ends a start that no cluster accepts: Spark asks a master for a minute, and YARN for ever."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from penstock.errors import ExternalError
from penstock.spark.session.driver_log import cause, yarn_has_answered
from penstock.spark.session.driver_process import DriverProcess
from penstock.spark.session.launch import SessionConfig


class StartLimit:
    """A context manager around the start of a SparkContext: kills its JVM after `cluster_timeout`.

    It then raises ExternalError, CLUSTER_START_TIMEOUT, with the cause that the driver's log has. A local master has no
    limit; nor has an application that YARN has taken into its queue.
    """

    def __init__(self, driver: DriverProcess, config: SessionConfig) -> None:
        self._exceeded: ExternalError | None = None
        self._driver = driver
        self._config = config
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="start limit", daemon=True)

    def __enter__(self) -> Self:
        if self._config.on_cluster:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._started.set()
        if self._thread.ident is not None:
            self._thread.join()
        if self._exceeded is not None:
            raise self._exceeded from None

    def _watch(self) -> None:
        config, log = self._config, self._driver.log
        if self._started.wait(config.cluster_timeout) or (config.master == "yarn" and yarn_has_answered(log)):
            return
        reason = cause(log, or_warning=True) or "it does not answer"
        self._exceeded = ExternalError(
            "CLUSTER_START_TIMEOUT", master=config.master, seconds=f"{config.cluster_timeout:g}", reason=reason, log=log
        )
        self._driver.process.kill()
