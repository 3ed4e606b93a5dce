"""Watches the cluster of an update or a command: says what is lost, and ends what cannot go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, Protocol

from py4j.protocol import Py4JError

from penstock.errors import ConfigError, ExternalError, PenstockError
from penstock.events import ClusterResources, ClusterState
from penstock.spark.session.cluster.executors import Cluster, ClusterSnapshot
from penstock.spark.session.driver_log import cause, cause_of_executors
from penstock.spark.session.setup.children import kill_children
from penstock.spark.session.start_limit import refused_by_kubernetes

_LOOK_SECONDS: Final = 1.0
_NOTICED_SECONDS: Final = 2.0
"""Within so long flows notice that the update is to end; what else waits for a dead cluster does not."""

_STANDALONE_SECONDS: Final = 15.0
"""So long a standalone cluster needs to start executors, if it can; YARN and Kubernetes may have to get machines."""

_UNKNOWN: Final = "the driver's log does not say why"


class ClusterReports(Protocol):
    """Takes what the watch finds; a `Reporter` writes it to the event log."""

    def cluster(self, master: str, resources: ClusterResources, *, error: PenstockError | None) -> None:
        """The cluster has more executors or fewer, or no master; `error` says what is wrong with it."""

    def background_thread(self, work: Callable[[], object], name: str) -> threading.Thread:
        """Returns the thread that watches, not started."""
        ...


class ClusterWatch:
    """What has become of the cluster, look by look. `failure` is what is to end the update; `check` raises it."""

    def __init__(self, cluster: Cluster, reports: ClusterReports, *, timeout: float, now: float) -> None:
        self.failure: PenstockError | None = None
        self._cluster = cluster
        self._reports = reports
        self._timeout = timeout
        standalone = cluster.master.startswith("spark://")
        self._first_due = now + (min(timeout, _STANDALONE_SECONDS) if standalone else timeout)
        self._most = 0
        self._stalled_since: float | None = None
        self._reported: ClusterResources | None = None

    def check(self) -> None:
        """Raises what is to end the update, if anything is."""
        if self.failure is not None:
            raise self.failure

    def look(self, now: float) -> None:
        """Compares the cluster with that of the last look, at `now`, in seconds; reports what has changed.

        Raises:
            Py4JError, OSError: the JVM has ended.
        """
        snapshot = self._cluster.look()
        if snapshot.unshared is not None:
            host, storage, reason = snapshot.unshared
            self.failure = ConfigError("STORAGE_NOT_SHARED", host=host, storage=storage, reason=reason)
            return
        if snapshot.stopped:
            master, log = self._cluster.master, self._cluster.log
            self.failure = refused_by_kubernetes(master, log) or self._error("CLUSTER_APPLICATION_STOPPED", cause(log))
            return
        self._most = max(self._most, snapshot.num_executors)
        if self._most == 0 and not snapshot.master_lost and now < self._first_due:
            return  # the first executors are on their way
        resources = ClusterResources(self._state(snapshot), snapshot.num_executors)
        if resources != self._reported:
            self._reported = resources
            self._reports.cluster(self._cluster.master, resources, error=self._error_of(resources))
        if resources.state is not ClusterState.MASTER_LOST or not resources.stalled:
            self._stalled_since = None
        elif self._stalled_since is None:
            self._stalled_since = now
        elif now - self._stalled_since >= self._timeout:
            self.failure = self._error_of(resources)

    def _state(self, snapshot: ClusterSnapshot) -> ClusterState:
        if snapshot.master_lost:
            return ClusterState.MASTER_LOST
        if snapshot.num_executors == 0 and snapshot.waiting:
            return ClusterState.NO_EXECUTORS
        if snapshot.num_executors < self._most and not self._cluster.dynamic:
            return ClusterState.EXECUTORS_LOST
        return ClusterState.AVAILABLE

    def _error_of(self, resources: ClusterResources) -> ExternalError | None:
        log, left = self._cluster.log, resources.num_executors
        match resources.state:
            case ClusterState.MASTER_LOST:
                return self._error("CLUSTER_MASTER_LOST", None, executors=left, seconds=f"{self._timeout:g}")
            case ClusterState.NO_EXECUTORS:
                return self._error("CLUSTER_NO_EXECUTORS", self._cluster.why_no_executors())
            case ClusterState.EXECUTORS_LOST:
                lost = self._most - left
                return self._error("CLUSTER_EXECUTORS_LOST", cause_of_executors(log), lost=lost, most=self._most)
        return None

    def _error(self, condition: str, reason: str | None, **facts: object) -> ExternalError:
        facts |= {"master": self._cluster.master, "log": self._cluster.log, "reason": reason or _UNKNOWN}
        return ExternalError(condition, location=None, dataset=None, **facts)


@contextmanager
def watching_cluster(
    cluster: Cluster | None, reports: ClusterReports, *, timeout: float, abandon: threading.Event
) -> Iterator[ClusterWatch | None]:
    """Watches `cluster` in a thread until the end of the block, which yields None without one.

    When the update is to end and `abandon` is not set soon, because something else than a flow waits for the cluster,
    the JVM is killed: every call to it fails then. Whatever the block raises after that is raised as the watch's
    failure.
    """
    if cluster is None:
        yield None
        return
    watch = ClusterWatch(cluster, reports, timeout=timeout, now=time.monotonic())
    ended = threading.Event()

    def look_again_and_again() -> None:
        with suppress(Py4JError, OSError):  # a JVM that has ended fails every flow, which says so
            while watch.failure is None and not ended.wait(_LOOK_SECONDS):
                watch.look(time.monotonic())
            if watch.failure is not None and not abandon.wait(_NOTICED_SECONDS) and not ended.is_set():
                kill_children()

    thread = reports.background_thread(look_again_and_again, "cluster watch")
    thread.start()
    try:
        yield watch
    except BaseException as error:
        if watch.failure is None:
            raise
        raise watch.failure from error
    finally:
        ended.set()
        thread.join()  # it writes to the event log, which is closed next
