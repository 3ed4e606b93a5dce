"""Statements that declare nothing: those that change no row are passed over, the others are errors."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.declare.declaration import notice_without_effect
from penstock.declare.registry import active_registry
from penstock.declare.sql.cursor import Cursor
from penstock.errors import DefinitionError

_COMPUTED = "the tables of a pipeline hold what their queries say"
_DECLARES = "a pipeline's files declare datasets, they run nothing"
_OUTSIDE = "catalogs, schemas and rights are not part of a pipeline"
_BY_HAND = "Do it outside of the pipeline, in the system that manages the catalog"
_ASK = "Remove it from the pipeline; 'penstock sql' answers it when the tables are there"
_FLOW = "Write CREATE FLOW name AS INSERT INTO table BY NAME query"
_CDC = "Write CREATE FLOW name AS AUTO CDC INTO table FROM STREAM(changes) KEYS (…) SEQUENCE BY …"
_QUERY = "Change the query of the table that holds the rows"
_MAINTAIN = "Remove it; run it on the table's path from a Spark session between two runs"

STATEMENTS_WITHOUT_EFFECT: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("SELECT", "WITH", "VALUES", "TABLE", "SHOW", "DESCRIBE", "DESC", "LIST"), (_DECLARES, _ASK)),
    **dict.fromkeys(("OPTIMIZE", "VACUUM", "ANALYZE", "FSCK", "REORG"), (_DECLARES, _MAINTAIN)),
    **dict.fromkeys(("CACHE", "UNCACHE"), (_DECLARES, "Remove it")),
    "COMMENT": (_DECLARES, "Use the COMMENT clause of CREATE"),
    "GRANT": (_OUTSIDE, _BY_HAND),
    "REFRESH": (_DECLARES, "Remove it; 'penstock run --refresh' refreshes a table"),
}
"""First word of the statement -> (reason, alternative)."""

CREATIONS_WITHOUT_EFFECT: dict[str, tuple[str, str]] = {
    f"CREATE {what}": (_OUTSIDE, "Remove it; schemas are made when a table is first written")
    for what in ("SCHEMA", "DATABASE", "CATALOG", "VOLUME")
}
"""Its last word stands behind CREATE and the modifiers -> (reason, alternative)."""

REFUSED_STATEMENTS: dict[str, tuple[str, str]] = {
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
    **dict.fromkeys(("REVOKE", "DENY"), (_OUTSIDE, _BY_HAND)),
    **dict.fromkeys(("DECLARE", "BEGIN", "EXECUTE", "CALL", "RESET", "ADD"), (_DECLARES, "Remove it")),
}
"""First word of the statement -> (reason, alternative)."""

REFUSED_CREATIONS: dict[str, tuple[str, str]] = {
    "CREATE EXTERNAL": (_COMPUTED, "Read the data in a query, as in SELECT * FROM read_files(path)"),
    "CREATE FUNCTION": (
        "functions are registered by Python files",
        "Write the function in a .py file of the pipeline, with spark.udf.register(name, function)",
    ),
    "CREATE GLOBAL": ("a view of a pipeline is visible in the pipeline only", "Write CREATE TEMPORARY VIEW"),
    **{f"CREATE {what}": (_OUTSIDE, _BY_HAND) for what in ("CONNECTION", "ROLE", "USER")},
}
"""Its last word stands behind CREATE and the modifiers -> (reason, alternative)."""

EMPTY_TABLE: dict[str, tuple[str, str]] = {
    "CREATE TABLE": ("the tables of a pipeline are made by their queries, and this one has none", "Make it elsewhere")
}
"""A TABLE that no modifier makes a streaming or live one, without a query."""

PLAIN_TABLE: dict[str, tuple[str, str]] = {
    "CREATE TABLE": (_COMPUTED, "Write CREATE OR REFRESH STREAMING TABLE or MATERIALIZED VIEW, with AS and a query")
}
"""A TABLE that no modifier makes a streaming or live one, with a query: its rows would be missing."""


def passes_over(cursor: Cursor, without_effect: Mapping[str, tuple[str, str]]) -> bool:
    """Whether the word of one of these stands at the cursor; then the registry has a notice."""
    for name, (reason, alternative) in without_effect.items():
        if cursor.at(name.split()[-1]):
            notice_without_effect(active_registry(name), cursor.location, name, reason, alternative)
            return True
    return False


def refuse_statement(cursor: Cursor, refused: Mapping[str, tuple[str, str]]) -> None:
    """Raises UNSUPPORTED_DECLARATION when the word of one of these stands at the cursor; else does nothing."""
    for name, (reason, alternative) in refused.items():
        if cursor.at(name.split()[-1]):
            raise DefinitionError(
                "UNSUPPORTED_DECLARATION",
                location=cursor.location,
                name=name,
                reason=reason,
                alternative=alternative,
            )
