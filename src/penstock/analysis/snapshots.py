"""What a flow of snapshots reads, found out before the first of them is taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, StringType, TimestampType

from penstock.errors import DefinitionError
from penstock.graph.elements import NextSnapshot, SnapshotChangeFlow
from penstock.spark.evaluation import Evaluation
from penstock.spark.writers.changes.resolve import END_AT, START_AT
from penstock.spark.writers.changes.snapshots import version_type
from penstock.storage.delta.table import is_delta_table


def first_snapshot(
    flow: SnapshotChangeFlow, evaluation: Evaluation, target_path: Callable[[], str]
) -> tuple[DataFrame, DataType]:
    """Returns the first snapshot and the type of the versions; a function of the user is called for it.

    When it has none (any more), they come from the table at `target_path()`, which holds the earlier ones.

    Raises:
        DefinitionError: SNAPSHOT_NOT_FOUND, SNAPSHOT_INVALID.
    """
    following = flow.next_snapshot
    if following is None:
        return evaluation.call(flow.function), TimestampType()
    found = _ask(following, evaluation)
    if found is None:
        return _stored(flow, evaluation, target_path())
    versions = version_type(found[1]) if isinstance(found, tuple) and len(found) == 2 else None
    if versions is None or not isinstance(found[0], DataFrame):
        raise DefinitionError("SNAPSHOT_INVALID", flow=flow.name, returned=_described(found))
    return found[0], versions


def _ask(following: NextSnapshot, evaluation: Evaluation) -> Any:
    """Calls the user's function; it may run jobs to find out what there is."""
    answer: list[Any] = []

    def ask() -> DataFrame:
        answer.append(following(None))
        return evaluation.spark.range(0)

    replace(evaluation, dataset=None).call(ask)
    return answer[0]


def _stored(flow: SnapshotChangeFlow, evaluation: Evaluation, path: str) -> tuple[DataFrame, DataType]:
    if not is_delta_table(path):
        raise DefinitionError("SNAPSHOT_NOT_FOUND", flow=flow.name, target=flow.target)
    table = evaluation.spark.read.format("delta").load(path)
    versions = table.schema[START_AT].dataType if START_AT in table.columns else StringType()
    return table.drop(START_AT, END_AT), versions


def _described(found: Any) -> str:
    if isinstance(found, tuple):
        return f"({', '.join(type(each).__name__ for each in found)})"
    return type(found).__name__
