"""The lineage of the columns of a query, whose leaves are those of an evaluation."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from penstock.graph.schema.column_lineage import ColumnLineage
from penstock.spark import _jvm
from penstock.spark.evaluation import Evaluation
from penstock.spark.lineage.plan import NO_DATA, lineage_of_plan
from penstock.spark.plans.definition import marked_dataset, plan_json
from penstock.spark.reading.source_names import source_name_of
from penstock.storage import local_path

MOST_EXPRESSIONS: Final = 10_000
"""A larger plan is not followed: a hundred columns added to as many one by one, half a second."""


def column_lineage(query: Callable[[], DataFrame], names: tuple[str, ...], evaluation: Evaluation) -> ColumnLineage:
    """Returns what the columns of a query, made in `evaluation`, are made of; nothing is executed.

    `names` are those of the columns. A query that cannot be followed stops no pipeline: its columns are not resolved.
    """
    try:
        frame = query()
        plan = _jvm.without_ctes(frame)
        document = plan_json(frame.sparkSession, plan, most=MOST_EXPRESSIONS)  # the whole plan in one call
        if document is None:
            return ColumnLineage.unknown(names)
        leaves = [_read_by(leaf, evaluation) for leaf in _jvm.scala_seq(plan.collectLeaves())]
        return lineage_of_plan(json.loads(document), leaves, names)
    except (Py4JError, PySparkException, LookupError, TypeError, ValueError):  # Spark writes it in an unknown form
        return ColumnLineage.unknown(names)


def _read_by(leaf: Any, evaluation: Evaluation) -> str | None:
    """Returns what a leaf reads, as `InputColumn.dataset` names it; None when it is not known."""
    kind = str(leaf.getClass().getSimpleName())
    if (name := source_name_of(leaf)) is not None:
        return next((read.source.strip() for read in evaluation.sources if read.name == name), None)
    if kind == "LocalRelation":
        marked = marked_dataset(leaf)
        if marked is None:
            return None if leaf.isStreaming() else NO_DATA
        return evaluation.places.get(marked, marked)
    index = _jvm.file_index(leaf) if kind == "LogicalRelation" else None
    if index is None:
        return None
    paths = [local_path(str(path)) for path in _jvm.scala_seq(index.rootPaths())]
    reads = {evaluation.places.get(path.rstrip("/")) for path in paths}
    return reads.pop() if len(reads) == 1 else None
