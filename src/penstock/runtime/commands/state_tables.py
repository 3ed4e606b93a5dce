"""Reads the state of a flow as tables, from a copy, so that the flow may go on meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.config import PipelineConfig
from penstock.errors import StateError
from penstock.runtime.project.watched_workspace import watched_workspace
from penstock.runtime.project.workspace import Progress
from penstock.spark.failures.causes import failure_messages
from penstock.spark.streams.state import StateTable, read_state
from penstock.storage import Storage
from penstock.storage.checkpoint.folder import CheckpointFolder
from penstock.storage.checkpoint.one_batch import copy_state_after
from penstock.storage.scratch import scratch_folder


def read_state_tables(
    config: PipelineConfig,
    folder: CheckpointFolder,
    operators: Sequence[int],
    *,
    batch: int,
    partitions: int,
    flow: str,
    dataset: str,
    limit: int,
    progress: Progress,
    spark: SparkSession | None = None,
) -> Mapping[int, tuple[StateTable, ...]]:
    """Returns the state of each of the `operators`, of so many `partitions`, as a finished batch has left it.

    Of each table `limit` rows are returned, and all are counted. Takes no lock. The flow's name and its dataset's stand
    in errors. `spark` is a session to read with; without one Spark is started.

    Raises:
        StateError: STATE_NOT_READABLE.
        ConfigError: STORAGE_NOT_WRITABLE.
        ExternalError: what keeps Spark from starting.
    """
    with (
        watched_workspace(config, progress, spark=spark) as workspace,
        scratch_folder(Storage(config.storage), "state", keep=False) as place,
    ):
        try:
            progress(f"Copying the state of {flow}")
            copy_state_after(folder, batch, partitions, Storage(config.storage), f"{place}/checkpoint")
            progress("Reading it")
            return {each: read_state(workspace.spark, f"{place}/checkpoint", each, limit=limit) for each in operators}
        except FileNotFoundError as error:
            reason = "the flow runs, and has just deleted what belongs to this batch; try again"
            raise StateError("STATE_NOT_READABLE", dataset=dataset, flow=flow, reason=reason) from error
        except (PySparkException, Py4JError) as error:
            reason = failure_messages(error)[-1].strip().partition("\n")[0].rstrip(".")
            raise StateError("STATE_NOT_READABLE", dataset=dataset, flow=flow, reason=reason) from error
