"""Where in the pipeline's files a value is computed that a running flow could not compute."""

from __future__ import annotations

from dataclasses import replace

from penstock.declare.user_frames import shown_path
from penstock.errors import PenstockError
from penstock.graph.resolved import ResolvedFlow
from penstock.graph.sql_query import sql_place
from penstock.runtime.flows.services import FlowQueries


def with_place(error: PenstockError, flow: ResolvedFlow, services: FlowQueries) -> PenstockError:
    """Gives a DATA_EXCEPTION the place of its expression, else that of the flow; other errors stay as they are."""
    if error.condition != "DATA_EXCEPTION":
        return error
    if error.location is not None:
        error.location = replace(error.location, path=shown_path(error.location.path, services.settings.directory))
        return error
    code = error.facts["where"].removeprefix(" in '").removesuffix("'")
    table = services.graph.tables.get(flow.declaration.target)
    rules = table.expectations if table is not None else ()
    error.location = (sql_place(code, flow.declaration, rules) if code else None) or flow.declaration.location
    return error
