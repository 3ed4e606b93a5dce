"""What is not supported, each with the reason and what to write instead; what changes no row has a notice only."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import NoReturn

from penstock.declare.declaration import notice_without_effect
from penstock.declare.parameters import REFUSALS, WITHOUT_EFFECT
from penstock.declare.registry import active_registry
from penstock.errors import DefinitionError, SourceLocation
from penstock.graph.sql.cursor import Cursor

Why = tuple[str, str]
"""The reason, and the way out; both complete the sentences of UNSUPPORTED_DECLARATION."""

REFUSED_CLAUSES: dict[str, Why] = {
    "CHECK": ("rows are checked by expectations", "Write CONSTRAINT name EXPECT (condition) ON VIOLATION FAIL UPDATE"),
    "DEFAULT": (
        "rows are inserted with all of their columns",
        "Compute the value in the query, with coalesce(column, value)",
    ),
    "DEFAULT COLLATION": ("Delta tables store text without a collation", "Remove DEFAULT COLLATION"),
    "OPTIONS": ("they belong to formats other than Delta", "Put options into TBLPROPERTIES"),
    "STORED AS BITEMPORAL": (REFUSALS["system_sequence_by"].reason, "Use STORED AS SCD TYPE 2"),
    "SYSTEM SEQUENCE BY": (
        REFUSALS["system_sequence_by"].reason,
        "Remove it, and keep the history of SEQUENCE BY with SCD TYPE 2",
    ),
    "USING": (REFUSALS["format"].reason, "Remove USING, or write USING DELTA"),
    "column list of a view": ("a view has the columns of its query", "Name the columns in the query"),
}

CLAUSES_WITHOUT_EFFECT: dict[str, Why] = {
    "CLUSTER BY AUTO": (
        WITHOUT_EFFECT["cluster_by_auto"].reason,
        "Name the columns, as in CLUSTER BY (order_time), to cluster the table",
    ),
    "SCHEDULE": (
        "a table of a pipeline is refreshed when the pipeline runs",
        "Start 'penstock run' from a scheduler, or run the pipeline with a continuous trigger",
    ),
    "TRIGGER ON UPDATE": (
        "a table of a pipeline is refreshed when the pipeline runs",
        "Run the pipeline with a continuous trigger",
    ),
}


_COMPUTED = "the tables of a pipeline hold what their queries say"
_DECLARES = "a pipeline's files declare datasets, they run nothing"
_RIGHTS = "who may read a table is kept in the storage, and a run must not change it"
_OUTSIDE = "catalogs, schemas and users are not part of a pipeline"
_BY_HAND = "Do it outside of the pipeline, in the system that manages the catalog"
_ASK = "Remove it from the pipeline; 'penstock sql' answers it when the tables are there"
_FLOW = "Write CREATE FLOW name AS INSERT INTO table BY NAME query"
_CDC = "Write CREATE FLOW name AS AUTO CDC INTO table FROM STREAM(changes) KEYS (…) SEQUENCE BY …"
_QUERY = "Change the query of the table that holds the rows"
_MAINTAIN = "Remove it; run it on the table's path from a Spark session between two runs"

STATEMENTS_WITHOUT_EFFECT: dict[str, Why] = {
    **dict.fromkeys(("SELECT", "WITH", "VALUES", "TABLE", "SHOW", "DESCRIBE", "DESC", "LIST"), (_DECLARES, _ASK)),
    **dict.fromkeys(("OPTIMIZE", "VACUUM", "ANALYZE", "FSCK", "REORG"), (_DECLARES, _MAINTAIN)),
    **dict.fromkeys(("CACHE", "UNCACHE"), (_DECLARES, "Remove it")),
    "COMMENT": (_DECLARES, "Use the COMMENT clause of CREATE"),
    "REFRESH": (_DECLARES, "Remove it; 'penstock run --refresh' refreshes a table"),
}
"""First word of the statement -> why."""

CREATIONS_WITHOUT_EFFECT: dict[str, Why] = {
    f"CREATE {what}": (_OUTSIDE, "Remove it; schemas are made when a table is first written")
    for what in ("SCHEMA", "DATABASE", "CATALOG", "VOLUME")
}
"""Its last word stands behind CREATE and the modifiers -> why."""

REFUSED_STATEMENTS: dict[str, Why] = {
    "FROM": (_DECLARES, _ASK),
    "INSERT": (_COMPUTED, _FLOW),
    "MERGE": (_COMPUTED, _CDC),
    "UPDATE": (_COMPUTED, _QUERY),
    "DELETE": (_COMPUTED, _QUERY),
    "TRUNCATE": (_COMPUTED, "Recompute the table with 'penstock run --full-refresh'"),
    "COPY": (_COMPUTED, "Write CREATE OR REFRESH STREAMING TABLE name AS SELECT * FROM STREAM read_files(path)"),
    "DROP": (_DECLARES, "Remove the declaration of the dataset from the files"),
    "ALTER": (_DECLARES, "Change the declaration of the dataset"),
    **dict.fromkeys(("REPAIR", "RESTORE"), (_DECLARES, _MAINTAIN)),
    "DENY": (_OUTSIDE, "Remove it; what a user may not read is what no GRANT gives, with access: {default: deny}"),
    **dict.fromkeys(("DECLARE", "BEGIN", "EXECUTE", "CALL", "RESET", "ADD"), (_DECLARES, "Remove it")),
}
"""First word of the statement -> why."""

REFUSED_CREATIONS: dict[str, Why] = {
    "CREATE EXTERNAL": (_COMPUTED, "Read the data in a query, as in SELECT * FROM read_files(path)"),
    "CREATE FUNCTION": (
        "functions are registered by Python files",
        "Write the function in a .py file of the pipeline, with spark.udf.register(name, function)",
    ),
    "CREATE GLOBAL": ("a view of a pipeline is visible in the pipeline only", "Write CREATE TEMPORARY VIEW"),
    **{f"CREATE {what}": (_OUTSIDE, _BY_HAND) for what in ("CONNECTION", "ROLE", "USER")},
}
"""Its last word stands behind CREATE and the modifiers -> why."""

EMPTY_TABLE: dict[str, Why] = {
    "CREATE TABLE": ("the tables of a pipeline are made by their queries, and this one has none", "Make it elsewhere")
}
"""A TABLE that no modifier makes a streaming or live one, without a query."""

PLAIN_TABLE: dict[str, Why] = {
    "CREATE TABLE": (_COMPUTED, "Write CREATE OR REFRESH STREAMING TABLE or MATERIALIZED VIEW, with AS and a query")
}
"""A TABLE that no modifier makes a streaming or live one, with a query: its rows would be missing."""


def unsupported(place: SourceLocation, name: str, why: Why) -> DefinitionError:
    """Returns UNSUPPORTED_DECLARATION for the clause or statement `name` at `place`."""
    reason, alternative = why
    return DefinitionError("UNSUPPORTED_DECLARATION", location=place, name=name, reason=reason, alternative=alternative)


def pass_over_clause(place: SourceLocation, clause: str) -> None:
    """Adds the notice that the clause at `place` has no effect."""
    notice_without_effect(active_registry(clause), place, clause, *CLAUSES_WITHOUT_EFFECT[clause])


def refuse_clause(place: SourceLocation, clause: str) -> NoReturn:
    """Raises UNSUPPORTED_DECLARATION for the clause at `place`."""
    raise unsupported(place, clause, REFUSED_CLAUSES[clause])


def passes_over(cursor: Cursor, without_effect: Mapping[str, Why]) -> bool:
    """Whether the word of one of these stands at the cursor; then the registry has a notice."""
    for name, why in without_effect.items():
        if cursor.at(name.split()[-1]):
            notice_without_effect(active_registry(name), cursor.location, name, *why)
            return True
    return False


def refuse_grant(cursor: Cursor) -> None:
    """Raises UNSUPPORTED_DECLARATION with the command to type when GRANT or REVOKE stands at the cursor."""
    for word in ("GRANT", "REVOKE"):
        if cursor.at(word):
            place = cursor.location
            command = f"penstock sql {shlex.quote(' '.join(cursor.rest().text.split()))}"
            raise unsupported(place, word, (_RIGHTS, f"Remove it, and type it once: {command}"))


def refuse_statement(cursor: Cursor, refused: Mapping[str, Why]) -> None:
    """Raises UNSUPPORTED_DECLARATION when the word of one of these stands at the cursor; else does nothing."""
    for name, why in refused.items():
        if cursor.at(name.split()[-1]):
            raise unsupported(cursor.location, name, why)
