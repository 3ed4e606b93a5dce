"""Clauses that are not supported, each with the reason and what to write instead; some change no row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from penstock.declare.declaration import notice_without_effect
from penstock.declare.parameters import REFUSALS, WITHOUT_EFFECT
from penstock.declare.registry import active_registry
from penstock.errors import DefinitionError, SourceLocation


@dataclass(frozen=True, slots=True)
class RefusedClause:
    """Why, and the way out; both complete the sentences of UNSUPPORTED_DECLARATION."""

    reason: str
    alternative: str


REFUSED_CLAUSES: dict[str, RefusedClause] = {
    "CHECK": RefusedClause(
        "rows are checked by expectations", "Write CONSTRAINT name EXPECT (condition) ON VIOLATION FAIL UPDATE"
    ),
    "DEFAULT": RefusedClause(
        "rows are inserted with all of their columns", "Compute the value in the query, with coalesce(column, value)"
    ),
    "DEFAULT COLLATION": RefusedClause("Delta tables store text without a collation", "Remove DEFAULT COLLATION"),
    "OPTIONS": RefusedClause("they belong to formats other than Delta", "Put options into TBLPROPERTIES"),
    "STORED AS BITEMPORAL": RefusedClause(REFUSALS["system_sequence_by"].reason, "Use STORED AS SCD TYPE 2"),
    "SYSTEM SEQUENCE BY": RefusedClause(
        REFUSALS["system_sequence_by"].reason, "Remove it, and keep the history of SEQUENCE BY with SCD TYPE 2"
    ),
    "USING": RefusedClause(REFUSALS["format"].reason, "Remove USING, or write USING DELTA"),
    "column list of a view": RefusedClause("a view has the columns of its query", "Name the columns in the query"),
}

CLAUSES_WITHOUT_EFFECT: dict[str, RefusedClause] = {
    "CLUSTER BY AUTO": RefusedClause(
        WITHOUT_EFFECT["cluster_by_auto"].reason,
        "Name the columns, as in CLUSTER BY (order_time), to cluster the table",
    ),
    "REFRESH POLICY": RefusedClause(
        WITHOUT_EFFECT["refresh_policy"].reason, WITHOUT_EFFECT["refresh_policy"].alternative
    ),
    "SCHEDULE": RefusedClause(
        "a table of a pipeline is refreshed when the pipeline runs",
        "Start 'penstock run' from a scheduler, or run the pipeline with a continuous trigger",
    ),
    "TRIGGER ON UPDATE": RefusedClause(
        "a table of a pipeline is refreshed when the pipeline runs",
        "Run the pipeline with a continuous trigger",
    ),
}


def pass_over_clause(place: SourceLocation, clause: str) -> None:
    """Adds the notice that the clause at `place` has no effect."""
    clause_at = CLAUSES_WITHOUT_EFFECT[clause]
    notice_without_effect(active_registry(clause), place, clause, clause_at.reason, clause_at.alternative)


def refuse_clause(place: SourceLocation, clause: str) -> NoReturn:
    """Raises UNSUPPORTED_DECLARATION for the clause at `place`."""
    refused = REFUSED_CLAUSES[clause]
    raise DefinitionError(
        "UNSUPPORTED_DECLARATION",
        location=place,
        name=clause,
        reason=refused.reason,
        alternative=refused.alternative,
    )
