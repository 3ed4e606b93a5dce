"""Where the SQL text of an expression stands in the pipeline's files."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.errors import SourceLocation
from penstock.graph.elements import Expectation, UnresolvedFlow
from penstock.graph.sql_query import SqlQuery


def sql_place(code: str, flow: UnresolvedFlow, rules: Iterable[Expectation]) -> SourceLocation | None:
    """Looks for `code` in the flow's statement and in the expectations of its target; None when it is in neither."""
    function = flow.function
    if isinstance(function, SqlQuery) and (offset := function.text.text.find(code)) >= 0:
        return function.text.location(offset)
    return next((each.location for each in rules if code in str(each.constraint)), None)
