"""Names for the sources of a query in which one streaming frame occurs more than once.

Spark reads such a frame once for each of its places, as if it had been made for each, and keeps the progress of each
read under a name of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from penstock.spark import _jvm

_NAME = "penstock.source_name"


def tag_placeholder(schema: StructType, name: str) -> StructType:
    """Returns `schema` with a mark that says, in a query's plan, for which source an empty relation stands."""
    if not schema.fields:
        return schema
    first = schema.fields[0]
    marked = StructField(first.name, first.dataType, first.nullable, {**first.metadata, _NAME: name})
    return StructType([marked, *schema.fields[1:]])


def with_unique_source_names(frame: DataFrame, another: Callable[[str], str]) -> DataFrame:
    """Returns a streaming query in which each source has a name of its own.

    `another` is called for each place of a source after its first, in the order of the query, with the source's name,
    and returns the name of the read at that place.
    """
    if not frame.isStreaming:
        return frame
    plan = _jvm.analyzed_plan(frame)
    leaves = plan.collectLeaves()
    if leaves.size() == 1:
        return frame
    seen: set[str] = set()
    renamed: dict[int, Any] = {}
    for place, leaf in enumerate(_jvm.scala_seq(leaves)):
        given = _given(leaf)
        name = source_name_of(leaf)
        if name is None:
            continue
        if name in seen:
            own = another(name)
            if given is not None:
                renamed[place] = leaf.withSourceIdentifyingName(given.copy(own))
        seen.add(name)
    if not renamed:
        return frame
    return _jvm.frame_of(frame.sparkSession, _with_leaves(frame.sparkSession, plan, renamed, itertools.count()))


def source_name_of(leaf: Any) -> str | None:
    """Returns the name of the source that a leaf of a plan reads, or stands for; None of a leaf without one."""
    given = _given(leaf)
    return _placeholder_of(leaf) if given is None else str(given.name())


def _with_leaves(spark: SparkSession, plan: Any, renamed: Mapping[int, Any], places: Iterator[int]) -> Any:
    """Returns a plan with other leaves at some places: the same leaf may stand at several."""
    children = _jvm.scala_seq(plan.children())
    if not children:
        return renamed.get(next(places), plan)
    return _jvm.with_children(spark, plan, [_with_leaves(spark, child, renamed, places) for child in children])


def _given(leaf: Any) -> Any | None:
    """The name of a source as Spark keeps it; None for another leaf."""
    if leaf.getClass().getSimpleName() not in {"StreamingRelation", "StreamingRelationV2"}:
        return None
    name = leaf.sourceIdentifyingName()
    return name if name.getClass().getSimpleName() == "UserProvided" else None


def _placeholder_of(leaf: Any) -> str | None:
    if leaf.getClass().getSimpleName() != "LocalRelation" or leaf.output().isEmpty():
        return None
    metadata = leaf.output().head().metadata()
    return str(metadata.getString(_NAME)) if metadata.contains(_NAME) else None
