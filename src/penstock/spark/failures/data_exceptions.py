"""Values that a query cannot compute, such as a failed cast: the place in the query, and what to write instead."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from penstock.errors import DataError, SourceLocation
from penstock.spark import _jvm

_ANSI = (
    "ARITHMETIC_OVERFLOW",
    "CANNOT_PARSE_DATE",
    "CANNOT_PARSE_TIME",  # and CANNOT_PARSE_TIMESTAMP
    "CAST_INVALID_INPUT",
    "CAST_OVERFLOW",
    "DATETIME_FIELD_OUT_OF_BOUNDS",
    "DIVIDE_BY_ZERO",
    "ILLEGAL_DAY_OF_WEEK",
    "INTERVAL_",
    "INVALID_ARRAY_INDEX",
    "INVALID_FRACTION_OF_SECOND",
    "INVALID_URL",
    "NUMERIC_VALUE_OUT_OF_RANGE",
    "REMAINDER_BY_ZERO",
)
"""How the conditions begin that Spark raises under ANSI alone."""
_TWIN = re.compile(r"[`'](try_\w+|get\(\))")
_NAME = re.compile(r"\w+")
_CALL_SITE = re.compile(r"(?P<file>.+):(?P<line>\d+)")
_OURS = str(Path(__file__).parents[2])
_SETTING = """spark_conf: {spark.sql.ansi.enabled: "false"}"""

_BETWEEN = "\x1f"
_CAST = re.compile(r"(?<!\w)cast\(")
_CUT_OFF = " more fields"
"""In the text of what has many arguments."""
_NODE = re.compile(r"[ :]*[:+]- (.*)")
"""A line of a tree, but for the first one; those without come from a literal."""

_TEXT = ("string", "varchar", "char")
_NEVER_PARSED = (*_TEXT, "binary", "variant", "array", "map", "struct")
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_NUMBERS = (*_INTEGERS, "float", "double", "decimal")


@dataclass(frozen=True, slots=True)
class QueryPlace:
    """What Spark knows of the place of an expression.

    `code` is the SQL text of the expression, or the line of a Python file that made it; else the name of the function.
    """

    function: str
    code: str
    location: SourceLocation | None = None


def query_place(throwable: Any) -> QueryPlace | None:
    """Returns the place that a Spark exception is about, None when it names none."""
    with suppress(Py4JError):
        return context_place(throwable.getQueryContext())
    return None


def context_place(contexts: Iterable[Any]) -> QueryPlace | None:
    """Returns the place that the first of Spark's `QueryContext`s names."""
    with suppress(Py4JError):
        for context in contexts:
            text = str(context.fragment())
            if not text:
                return None
            name = _NAME.match(text)
            function = name.group().casefold() if name else ""
            if str(context.contextType()) == "SQL":
                return QueryPlace(function, text)
            site = _CALL_SITE.fullmatch(str(context.callSite()).strip())
            line = linecache.getline(site["file"], int(site["line"])).strip() if site else ""
            if site and line and not site["file"].startswith(_OURS):
                return QueryPlace(function, line, SourceLocation(site["file"], int(site["line"])))
            return QueryPlace(function, f"{text}()")
    return None


def data_exception(
    condition: str, message: str, detail: str, place: QueryPlace | None, *, dataset: str, flow: str
) -> DataError:
    """Returns what an exception of SQLSTATE class 22 means; `detail` is the line of its `message` to show."""
    return DataError(
        "DATA_EXCEPTION",
        location=None if place is None else place.location,
        dataset=dataset,
        flow=flow,
        where="" if place is None else f" in '{place.code}'",
        detail=detail,
        alternative=_alternative(condition, message, place),
    )


def _alternative(condition: str, message: str, place: QueryPlace | None) -> str:
    found = _TWIN.search(message)
    twin = found[1].removesuffix("()") if found else None
    if place is not None and hasattr(sf, f"try_{place.function}"):  # to_date, whose cast Spark names
        twin = f"try_{place.function}"
    if not condition.startswith(_ANSI):
        return f"{twin}()" if twin else "try_cast(), try_divide()"
    setting = f"{_SETTING} in penstock.yml, which switches such errors off as in pipelines written without ANSI mode"
    return f"{twin}(); {setting}" if twin else setting


@dataclass(frozen=True, slots=True)
class FallibleCast:
    """A cast whose values decide whether it fails: `text` is its SQL, with the column."""

    text: str
    place: QueryPlace | None


def fallible_casts(frame: DataFrame) -> Iterator[FallibleCast]:
    """Yields the casts of text to other types, and those of numbers and times to narrower numbers, of the ANSI kind."""
    up_cast = _jvm.jvm(frame.sparkSession).org.apache.spark.sql.catalyst.expressions.Cast.canUpCast
    for node in _jvm.nodes(_jvm.analyzed_plan(frame)):
        for cast in _casts(node.expressions()):
            given, target = cast.child().dataType(), cast.dataType()
            if not _can_fail(str(given.simpleString()), str(target.simpleString())) or up_cast(given, target):
                continue
            if str(cast.evalMode()) == "ANSI" and not cast.foldable():
                context = cast.origin().context()
                place = None if context is None else context_place([context])
                sql = place is not None and place.function == "cast" and place.location is None
                yield FallibleCast(place.code if sql and place is not None else str(cast.sql()), place)


def _casts(expressions: Any) -> Iterator[Any]:
    """Yields the casts in a `Seq` of expressions, found in their text: each look at a node is a round trip."""
    for position, text in enumerate(str(expressions.mkString(_BETWEEN)).split(_BETWEEN)):
        if _CAST.search(text) is None and _CUT_OFF not in text:
            continue
        expression = expressions.apply(position)
        root, *below = str(expression.treeString()).split("\n")
        lines = [root, *(found[1] for line in below if (found := _NODE.match(line)))]
        for number, line in enumerate(lines):
            if line.startswith("cast(") and not line.endswith(" as string)"):
                node = expression.apply(number)
                if node is not None and str(node.nodeName()) == "Cast":  # what has one on its left begins so, too
                    yield node


def _can_fail(given: str, target: str) -> bool:
    if given.startswith(_TEXT):
        return not target.startswith(_NEVER_PARSED)
    return target.startswith((*_INTEGERS, "decimal")) and given.startswith((*_NUMBERS, "timestamp", "interval"))
