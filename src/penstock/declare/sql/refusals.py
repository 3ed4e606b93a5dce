"""Clauses of the accepted statements that this version refuses, each with the reason and what to write instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from penstock.declare.parameters import REFUSALS
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
    "CLUSTER BY AUTO": RefusedClause(
        REFUSALS["cluster_by_auto"].reason, "Name the columns, as in CLUSTER BY (order_time)"
    ),
    "DEFAULT": RefusedClause(
        "rows are inserted with all of their columns", "Compute the value in the query, with coalesce(column, value)"
    ),
    "DEFAULT COLLATION": RefusedClause("Delta tables store text without a collation", "Remove DEFAULT COLLATION"),
    "OPTIONS": RefusedClause("they belong to formats other than Delta", "Put options into TBLPROPERTIES"),
    "REFRESH POLICY": RefusedClause(REFUSALS["refresh_policy"].reason, "Use REFRESH POLICY AUTO or FULL"),
    "SCHEDULE": RefusedClause(
        "a table of a pipeline is refreshed when the pipeline runs",
        "Remove it, and start 'penstock run' from a scheduler, or run the pipeline with a continuous trigger",
    ),
    "STORED AS BITEMPORAL": RefusedClause(REFUSALS["system_sequence_by"].reason, "Use STORED AS SCD TYPE 2"),
    "SYSTEM SEQUENCE BY": RefusedClause(
        REFUSALS["system_sequence_by"].reason, "Remove it, and keep the history of SEQUENCE BY with SCD TYPE 2"
    ),
    "TRIGGER ON UPDATE": RefusedClause(
        "a table of a pipeline is refreshed when the pipeline runs",
        "Remove it, and run the pipeline with a continuous trigger",
    ),
    "USING": RefusedClause(REFUSALS["format"].reason, "Remove USING, or write USING DELTA"),
    "column list of a view": RefusedClause("a view has the columns of its query", "Name the columns in the query"),
}


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
