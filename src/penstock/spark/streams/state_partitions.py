"""Divides the state of a checkpoint into another number of partitions, by Spark's own offline repartitioning."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.errors import ExternalError
from penstock.spark.failures.translate import failure_messages, translate_failure


def divide_state(spark: SparkSession, checkpoint: str, partitions: int, *, flow: str, dataset: str) -> None:
    """Adds a finished batch to a checkpoint which no query uses: it reads nothing, and its state is repartitioned.

    The plan of the newest batch, which must be finished, has to hold the present number of partitions. Spark knows
    nothing of `flow` and `dataset`, which are in the error. What was written before a failure stays.

    Raises:
        ExternalError: CHECKPOINT_REPARTITION_FAILED, also for state that Spark cannot divide; JVM_DIED.
        StateError: CHECKPOINT_STATE_NOT_LOADED.
    """
    try:
        _ = spark.streams  # starts what the tasks ask where a state is, which is else there only after a first query
        # PySpark has no public name for it yet; SPARK-54338 brought it with 4.2.
        spark._streamingCheckpointManager.repartition(checkpoint, partitions)
    except (PySparkException, Py4JError) as error:
        known = translate_failure(error, dataset=dataset, flow=flow)
        if known.condition != "FLOW_FAILED":
            raise known from error
        reason = failure_messages(error)[-1].strip().partition("\n")[0].rstrip(".")
        facts: dict[str, Any] = {"flow": flow, "partitions": partitions, "reason": reason}
        raise ExternalError("CHECKPOINT_REPARTITION_FAILED", dataset=dataset, **facts) from error
