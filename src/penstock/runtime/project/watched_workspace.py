"""The workspace of a command, which says what its cluster lacks, and ends when that cannot do the work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.config import PipelineConfig
from penstock.errors import PenstockError
from penstock.events import ClusterResources
from penstock.runtime.project.workspace import Progress, Workspace
from penstock.runtime.reporting.cluster_watch import watching_cluster
from penstock.spark.session.cluster.executors import Cluster
from penstock.spark.session.session import driver_log


@dataclass(frozen=True, slots=True)
class _Terminal:
    """Shows a person what a run writes to its event log."""

    progress: Progress
    redacted: Callable[[str], str]

    def cluster(self, _master: str, _resources: ClusterResources, *, error: PenstockError | None) -> None:
        if error is not None:
            error.redact(self.redacted)
            self.progress(f"[{error.condition}] {error.message} {error.fix}")

    def background_thread(self, work: Callable[[], object], name: str) -> threading.Thread:
        return threading.Thread(target=work, name=name, daemon=True)


@contextmanager
def watched_workspace(
    config: PipelineConfig,
    progress: Progress,
    *,
    spark: SparkSession | None = None,
    short: bool = True,
    data: Path | None = None,
) -> Iterator[Workspace]:
    """Opens the workspace of a command, on the caller's session if there is one; see `Workspace.open`.

    Raises:
        ConfigError, ExternalError: what keeps Spark from starting. Later, in the place of whatever the block raises,
            ConfigError STORAGE_NOT_SHARED, ExternalError CLUSTER_APPLICATION_STOPPED, CLUSTER_MASTER_LOST.
    """
    workspace = Workspace.open(config, progress, spark=spark, short=short, data=data)
    cluster = Cluster.of(workspace.spark, driver_log())
    terminal = _Terminal(progress, config.redact)
    with watching_cluster(cluster, terminal, timeout=config.cluster_timeout, abandon=threading.Event()):
        yield workspace
