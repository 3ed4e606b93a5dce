"""Where in the pipeline's files a value is computed that a running flow could not compute."""

from __future__ import annotations

from dataclasses import replace

from penstock.declare.user_frames import shown_path
from penstock.errors import PenstockError, SourceLocation
from penstock.graph.resolved import ResolvedFlow
from penstock.graph.sql_query import SqlQuery
from penstock.runtime.services import FlowQueries


def with_place(error: PenstockError, flow: ResolvedFlow, services: FlowQueries) -> PenstockError:
    """Gives a DATA_EXCEPTION the place of its expression, else that of the flow; other errors stay as they are."""
    if error.condition != "DATA_EXCEPTION":
        return error
    if error.location is not None:
        error.location = replace(error.location, path=shown_path(error.location.path, services.settings.directory))
        return error
    code = error.facts["where"].removeprefix(" in '").removesuffix("'")
    error.location = (_place_of(code, flow, services) if code else None) or flow.flow.location
    return error


def _place_of(code: str, flow: ResolvedFlow, services: FlowQueries) -> SourceLocation | None:
    """Looks for the SQL text of an expression in the flow's statement and in the expectations of its target."""
    function = flow.flow.function
    if isinstance(function, SqlQuery) and (offset := function.text.text.find(code)) >= 0:
        return function.text.location(offset)
    table = services.graph.tables.get(flow.flow.target)
    rules = table.expectations if table is not None else ()
    return next((each.location for each in rules if code in str(each.constraint)), None)
