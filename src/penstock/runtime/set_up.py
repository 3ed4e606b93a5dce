"""Sets up the tables of an update before its flows run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Final

from pyspark.sql import SparkSession

from penstock.config import RetrySettings
from penstock.errors import PenstockError
from penstock.graph.elements import StreamingTable
from penstock.plan.changes import TableChanges
from penstock.plan.stages import AlterTable, CreateTable, DefineTable, SetUpTable, UpdatePlan
from penstock.runtime.flows.retry import Stopped, run_with_retries
from penstock.spark.accelerators.log_checkpoints import with_checkpoints_beside
from penstock.spark.delta import tables
from penstock.spark.failures.translate import translate_set_up

_ONE_TRY: Final = RetrySettings(max_flow_retries=0)


def set_up_tables(
    plan: UpdatePlan,
    spark: SparkSession,
    *,
    retries: RetrySettings = _ONE_TRY,
    continuous: bool = False,
    stop: threading.Event | None = None,
    on_retry: Callable[[PenstockError, float], None] = lambda *_: None,
) -> None:
    """Creates, empties and alters tables side by side: a commit is mostly waiting.

    What can pass, such as a storage that does not answer, is tried again as `retries` say, by default not at all;
    `on_retry` gets the error and the pause in seconds. When `stop` is set meanwhile, it ends early: the flows see
    that as well.

    Raises:
        PenstockError: what a table does not allow, with its name and place, or the last error of a table.
    """
    stages = plan.of_type(SetUpTable)
    if not stages:
        return

    def set_up(stage: SetUpTable) -> None:
        with suppress(Stopped):
            run_with_retries(
                partial(_set_up_table, stage, spark),
                settings=retries,
                continuous=continuous,
                stop=stop or threading.Event(),
                on_retry=on_retry,
            )

    with ThreadPoolExecutor(max_workers=min(4, len(stages)), thread_name_prefix="table") as pool:
        for done in [pool.submit(set_up, stage) for stage in stages]:
            done.result()


def _set_up_table(stage: SetUpTable, spark: SparkSession) -> None:
    try:
        match stage:
            case DefineTable():
                define = tables.create_table if isinstance(stage, CreateTable) else tables.reset_table
                properties = _properties(stage, spark)
                define(spark, stage.table, path=stage.path, schema=stage.schema, properties=properties)
            case AlterTable():
                _alter(spark, stage.path, stage.changes)
    except Exception as error:
        raise translate_set_up(error, stage.table, stage.path) from error


def _properties(stage: DefineTable, spark: SparkSession) -> Mapping[str, str]:
    if isinstance(stage.table, StreamingTable):
        return with_checkpoints_beside(spark, stage.properties)
    return stage.properties


def _alter(spark: SparkSession, path: str, changes: TableChanges) -> None:
    """Several commits; when the process dies between two, the next plan finds what is left to do."""
    if changes.cluster_by is not None:
        tables.cluster_table(spark, path, changes.cluster_by)
    if changes.properties:
        tables.set_properties(spark, path, changes.properties)
    if changes.columns:
        tables.add_columns(spark, path, changes.columns)
    for column, kind in changes.widened.items():
        tables.widen_column(spark, path, column, kind)
    for column, comment in changes.comments.items():
        tables.comment_column(spark, path, column, comment)
    for column in changes.nullable:
        tables.allow_null(spark, path, column)
    if changes.comment is not None:
        tables.comment_table(spark, path, changes.comment)
