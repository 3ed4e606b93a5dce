"""Checkpoints of a Delta table's log, written beside the stream that fills the table.

A checkpoint is one Parquet file with what all commits so far say; who opens the table reads it and the commits after
it. Delta writes it within the commit whose number is a multiple of `delta.checkpointInterval`, and that batch waits:
for a second and more, the longer the more files the table has. So a streaming table gets an interval that hardly ever
comes, and `java/penstock/delta/LogCheckpoints.java` has Delta write the checkpoint in a thread of its own, one at a
time. A table that was given an interval is left to Delta.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from penstock.spark._jvm import has_format, java_session, jvm
from penstock.spark.accelerators.accelerator import CHECKPOINT_INTERVAL, DEFAULT_CHECKPOINT_INTERVAL, LOG_CHECKPOINTS
from penstock.spark.accelerators.own_classes import DELTA_SINK

INTERVAL: Final = "delta.checkpointInterval"
BESIDE: Final = "10000"
"""The `delta.checkpointInterval` of tables whose checkpoints are written beside their streams."""


def with_checkpoints_beside(spark: SparkSession, properties: Mapping[str, str]) -> dict[str, str]:
    """Returns the properties of a new streaming table with the one that leaves checkpoints to `checkpoint_if_due`.

    As they are when they or the settings of the session give an interval, or the session has no Java classes of
    Penstock.
    """
    if not LOG_CHECKPOINTS.applies():
        return dict(properties)
    given = any(name.casefold() == INTERVAL.casefold() for name in properties)
    if given or spark.conf.get(CHECKPOINT_INTERVAL, None) != DEFAULT_CHECKPOINT_INTERVAL:
        return dict(properties)
    return {**properties, INTERVAL: BESIDE} if has_format(spark, DELTA_SINK) else dict(properties)


def checkpoint_if_due(spark: SparkSession, path: str) -> bool:
    """Has the log of the table at `path` checkpointed, beside the caller, if 50 commits have come since the last one.

    Call it in a query's own thread after each batch that it has committed. The first one of this process waits for the
    checkpoint: a run that ends after one batch would else never have one. A table rests nine times as long as its last
    checkpoint took. Delta's streaming sink does it by itself, see `DeltaWriter`.

    Returns whether one was written or begun. Never raises.
    """
    with suppress(Py4JError, TypeError):  # TypeError: py4j took a class that is not there for a package
        return bool(jvm(spark).penstock.delta.LogCheckpoints.afterBatch(java_session(spark), path))
    return False
