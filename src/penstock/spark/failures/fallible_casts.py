"""Which casts of a query can fail under ANSI mode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from penstock.spark import _jvm
from penstock.spark.failures.data_exceptions import QueryPlace, context_place

_TEXT = ("string", "varchar", "char")
_NEVER_PARSED = (*_TEXT, "binary", "variant", "array", "map", "struct")
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_NUMBERS = (*_INTEGERS, "float", "double", "decimal")


@dataclass(frozen=True, slots=True)
class FallibleCast:
    """A cast whose values decide whether it fails: `text` is its SQL, with the column."""

    text: str
    place: QueryPlace | None


def fallible_casts(frame: DataFrame) -> Iterator[FallibleCast]:
    """Yields the casts of text to other types, and those of numbers and times to narrower numbers, of the ANSI kind."""
    java = _jvm.jvm(frame.sparkSession).org.apache.spark.sql.catalyst
    pattern = java.trees.TreePattern.CAST()

    def casts(node: Any) -> Iterator[Any]:
        if not node.containsPattern(pattern):
            return
        if node.getClass().getSimpleName() == "Cast":
            yield node
        parts = node.expressions() if _jvm.is_logical_plan(node) else None
        for part in (*(_jvm.scala_seq(parts) if parts else ()), *_jvm.scala_seq(node.children())):
            yield from casts(part)

    for cast in casts(_jvm.analyzed_plan(frame)):
        if str(cast.evalMode()) != "ANSI" or cast.foldable():
            continue
        given, target = cast.child().dataType(), cast.dataType()
        if _can_fail(str(given.simpleString()), str(target.simpleString())) and not (
            java.expressions.Cast.canUpCast(given, target)
        ):
            context = cast.origin().context()
            place = None if context is None else context_place([context])
            sql = place is not None and place.function == "cast" and place.location is None
            yield FallibleCast(place.code if sql and place is not None else str(cast.sql()), place)


def _can_fail(given: str, target: str) -> bool:
    if given.startswith(_TEXT):
        return not target.startswith(_NEVER_PARSED)
    return target.startswith((*_INTEGERS, "decimal")) and given.startswith((*_NUMBERS, "timestamp", "interval"))
