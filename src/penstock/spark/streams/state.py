"""The state of a query in its checkpoint: read as tables, and divided into another number of partitions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, NullType, StructType

from penstock.errors import ExternalError
from penstock.graph.sql.names import quoted
from penstock.spark.failures.causes import failure_messages
from penstock.spark.failures.translate import translate_failure
from penstock.spark.plans.row_difference import compare_rows

_JOIN: Final = "symmetricHashJoin"
_WITHOUT_TIMERS: Final = "NoTime"


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


@dataclass(frozen=True, slots=True)
class StateTable:
    """A part of an operator's state: `part` is a side of a join or a variable, empty where there is one table only.

    `columns` are the fields of key and value, nested ones by their path; `count` is how many rows there are.
    """

    part: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    count: int


def read_state(spark: SparkSession, checkpoint: str, operator: int, *, limit: int) -> tuple[StateTable, ...]:
    """Returns an operator's state as the newest finished batch of a checkpoint left it, with at most `limit` rows each.

    Each row of the state is read once, and counted.

    Raises:
        PySparkException, Py4JJavaError: Spark cannot read this state.
    """
    _ = spark.streams  # starts what the tasks ask where a state is, which is else there only after a first query
    return tuple(
        _table(part, spark.read.format("statestore").options(operatorId=operator, **options).load(checkpoint), limit)
        for part, options in _parts(spark, checkpoint, operator)
    )


def compare_state(spark: SparkSession, left: str, right: str, operator: int) -> tuple[int, int]:
    """Compares an operator's state in two checkpoints, as their newest finished batches left it.

    Returns how many rows are in both, and how many in one of them only.

    Raises:
        PySparkException, Py4JJavaError: as `read_state`.
    """
    _ = spark.streams  # as in `read_state`
    equal, different = 0, 0
    for _part, options in _parts(spark, left, operator):
        read = spark.read.format("statestore").options(operatorId=operator, **options)
        found = compare_rows(read.load(left), read.load(right), limit=0)
        equal += found.equal
        different += found.only_left + found.only_right
    return equal, different


def _parts(spark: SparkSession, checkpoint: str, operator: int) -> Iterator[tuple[str, dict[str, str]]]:
    described = spark.read.format("state-metadata").load(checkpoint).where(sf.col("operatorId") == operator).collect()
    if any(store["operatorName"] == _JOIN for store in described):
        yield from ((side, {"joinSide": side}) for side in ("left", "right"))
        return
    recorded = (store["operatorProperties"] for store in described if store["operatorProperties"])
    properties: dict[str, Any] = json.loads(next(recorded, "{}"))
    variables = [str(each["stateName"]) for each in properties.get("stateVariables", ())]
    yield from ((name, {"stateVarName": name}) for name in variables if not name.startswith("$"))
    if variables and properties.get("timeMode") != _WITHOUT_TIMERS:
        yield "timers", {"readRegisteredTimers": "true"}
    if not variables:
        yield "", {}


def _table(part: str, state: DataFrame, limit: int) -> StateTable:
    fields = list(_fields(state.schema))
    names = [_short(path, [other for other in fields if other != path]) for path in fields]
    flat = state.select(
        *(sf.col(".".join(map(quoted, path))).alias(name) for path, name in zip(fields, names, strict=True))
    )
    rows = tuple(tuple(row) for row in flat.limit(limit).collect())
    return StateTable(part, tuple(names), rows, flat.count())


def _fields(kind: DataType, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The values in a row, whatever structs they are in; Spark fills a value that is not needed with one of no type."""
    if isinstance(kind, StructType):
        for field in kind:
            yield from _fields(field.dataType, (*path, field.name))
    elif not isinstance(kind, NullType):
        yield path


def _short(path: tuple[str, ...], others: list[tuple[str, ...]]) -> str:
    """The path without `key` or `value`, where that is clear."""
    short = path[1:] or path
    return ".".join(path if short in [other[1:] or other for other in others] else short)
