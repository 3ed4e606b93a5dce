"""The workspace of a command, which ends when its cluster cannot do the work."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.config import PipelineConfig
from penstock.runtime.project.workspace import Progress, Workspace
from penstock.runtime.reporting.cluster_watch import watching_cluster
from penstock.spark.session.cluster.executors import Cluster
from penstock.spark.session.session import driver_log


@contextmanager
def watched_workspace(
    config: PipelineConfig, progress: Progress, *, spark: SparkSession | None = None, data: Path | None = None
) -> Iterator[Workspace]:
    """Opens the workspace of a command that runs jobs, on the caller's session if there is one.

    Raises:
        ConfigError, ExternalError: what keeps Spark from starting. Later, in the place of whatever the block raises,
            ConfigError STORAGE_NOT_SHARED, ExternalError CLUSTER_APPLICATION_STOPPED, CLUSTER_MASTER_LOST.
    """
    workspace = Workspace.open(config, progress, spark=spark, short=True, data=data)
    cluster = Cluster.of(workspace.spark, driver_log())
    with watching_cluster(cluster, None, timeout=config.cluster_timeout, abandon=threading.Event()):
        yield workspace
