"""Divides a flow's state into another number of partitions, beside the checkpoint whose place the result takes."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from penstock.config import PipelineConfig
from penstock.runtime.project.watched_workspace import watched_workspace
from penstock.runtime.project.workspace import Progress
from penstock.spark.streams.state import divide_state
from penstock.storage import Storage
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.partitions import begin_repartition, complete_repartition


@dataclass(frozen=True, slots=True)
class Repartitioned:
    """What became of a checkpoint: its newest `batch`, which divided the state, and where the old one is kept."""

    batch: int
    kept: str | None


def repartition_state(
    config: PipelineConfig,
    folder: CheckpointFolder,
    *,
    present: int,
    partitions: int,
    flow: str,
    dataset: str,
    progress: Progress,
    spark: SparkSession | None = None,
) -> Repartitioned:
    """Divides the state of a checkpoint, `present` partitions and no batch in flight, into so many `partitions`.

    The flow's name and its dataset's stand in errors. The caller holds the storage's lock. When the process dies, the
    flow goes on with the old checkpoint or with the new one.

    Raises:
        ExternalError: CHECKPOINT_REPARTITION_FAILED, and what keeps Spark from starting; the checkpoint is as it was.
        ConfigError: STORAGE_NOT_READABLE, STORAGE_NOT_WRITABLE.
    """
    with watched_workspace(config, progress, spark=spark) as workspace:
        progress(f"Copying the checkpoint of {flow}")
        staged = begin_repartition(Storage(config.storage), folder, present)
        try:
            progress(f"Dividing its state into {partitions} partition{'s' if partitions != 1 else ''}")
            divide_state(workspace.spark, staged.uri, partitions, flow=flow, dataset=dataset)
            batch = complete_repartition(staged, partitions)
        except Exception:
            staged.give_up()
            raise
        return Repartitioned(batch, staged.take_place())
