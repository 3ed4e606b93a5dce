"""EXPLAIN of a query or of CREATE MATERIALIZED VIEW: whether it would be refreshed by what has changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from penstock.declare.registry import PipelineRegistry
from penstock.declare.sql.declarations import SqlDeclarations
from penstock.declare.sql.parser import explained_view
from penstock.declare.sql.statements import CreateTable
from penstock.errors import PipelineInvalid
from penstock.graph.elements import MaterializedView, RefreshPolicy
from penstock.graph.identifier import Identifier
from penstock.graph.rules.refreshing import full_only
from penstock.graph.sql.placed_text import PlacedText
from penstock.runtime.project.workspace import Workspace, say_nothing

_EXPLAIN: Final = re.compile(
    r"\s*EXPLAIN\s+(?:(?P<form>EXTENDED|FORMATTED|CODEGEN|COST)\s+)?(?P<text>(?P<word>\(|\w+).*)",
    re.IGNORECASE | re.DOTALL,
)
_QUERIES: Final = {"SELECT", "WITH", "FROM", "VALUES", "TABLE", "("}

_ABLE: Final = "The Materialized View can be incrementally refreshed."
_BY_ESTIMATE: Final = (
    "With REFRESH POLICY AUTO it is computed in full where that is estimated to be quicker, from what its refreshes"
    " took: penstock plan"
)
_UNABLE: Final = "The Materialized View cannot be incrementally refreshed."


@dataclass(frozen=True, slots=True)
class ExplainedQuery:
    """The query in EXPLAIN, the form of the plan that is wanted, and the view that it would make, if any."""

    text: str
    form: str
    view: CreateTable | None = None


def explained_query(statement: str) -> ExplainedQuery | None:
    """Returns what a statement explains; None for another statement, or another thing than a query.

    Raises:
        DefinitionError: PARSE_SYNTAX_ERROR and the like, for EXPLAIN CREATE MATERIALIZED VIEW.
    """
    found = _EXPLAIN.match(statement)
    if found is None:
        return None
    form, word = (found["form"] or "simple").lower(), found["word"].upper()
    if word in _QUERIES:
        return ExplainedQuery(found["text"], form)
    view = explained_view(PlacedText.of(statement, "STATEMENT")) if word == "CREATE" else None
    return None if view is None or view.query is None else ExplainedQuery(view.query.text, form, view)


def refresh_eligibility(
    created: CreateTable, workspace: Workspace, stored_table: Callable[[Identifier], str | None]
) -> str:
    """Returns the sections that Databricks prints below the plan, with the answers of `penstock plan`.

    `stored_table` returns the path of a table, None for one that is not there; it may refuse.

    Raises:
        DefinitionError, PipelineInvalid: what is wrong with the view, but for a policy that its query does not allow.
        PenstockError: what `stored_table` raises.
    """
    config = workspace.config
    registry = PipelineRegistry(root=config.directory, default_schema=config.schema)
    policy = created.clauses.get("refresh_policy", RefreshPolicy.AUTO)
    lenient = RefreshPolicy.AUTO if policy.incremental else policy
    created = replace(created, clauses={**created.clauses, "refresh_policy": lenient})
    SqlDeclarations(registry, workspace.spark, None, None, {}).table(created)
    try:
        graph = workspace.analyse(registry, say_nothing, stored_table=stored_table)
    except PipelineInvalid as invalid:
        [first, *others] = invalid.errors
        raise invalid if others else first from None
    [flow] = [each for each in graph.flows if isinstance(graph.tables.get(each.declaration.target), MaterializedView)]
    view = graph.tables[flow.declaration.target]
    assert isinstance(view, MaterializedView)
    why = full_only(view, flow, constrained=graph.stored_schemas[view.identifier].constrained)
    if why is None and flow.definition is not None:
        how = f"No issues detected. Refreshed by: {' or '.join(flow.definition.methods)}"
        return _sections(_ABLE, how, *([_BY_ESTIMATE] if policy is RefreshPolicy.AUTO else []))
    details = [f"Computed in full: {why}"]
    if policy.incremental:
        details.append(
            f"With REFRESH POLICY {policy.name.replace('_', ' ')} it raises MATERIALIZED_VIEW_NOT_INCREMENTAL"
        )
    return _sections(_UNABLE, *details)


def _sections(verdict: str, *details: str) -> str:
    lines = ("== Incremental Update Eligibility ==", verdict, "", "== Detailed Incrementalization Info ==", *details)
    return "\n".join(lines)
