"""Where in a SQL query Spark found what it does not accept."""

from __future__ import annotations

from pyspark.errors import ParseException, PySparkException

from penstock.errors import SourceLocation
from penstock.graph.placed_text import PlacedText
from penstock.spark import _jvm


def position_in(query: PlacedText, error: BaseException) -> SourceLocation | None:
    """Returns the place in the user's file, or None when Spark names no place.

    Names of datasets were replaced before Spark analysed the query, which moves what stands behind them
    in the same line: there the column is that of the words which Spark quotes, if the line has them once.
    """
    if not isinstance(error, PySparkException) or (position := _jvm.sql_position(error)) is None:
        return None
    line, column = position
    lines = query.text.split("\n")
    if line > len(lines):
        return None
    start = query.offset_at(line, 0)
    if isinstance(error, ParseException):
        return query.location(query.offset_at(line, column))
    for context in error.getQueryContext() or ():
        words = context.fragment().split("\n")[0] if context.contextType().name == "SQL" else ""
        if words and lines[line - 1].count(words) == 1:
            return query.location(start + lines[line - 1].index(words))
    place = query.location(start)
    return SourceLocation(place.path, place.line)
