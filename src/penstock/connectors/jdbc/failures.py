"""What it means that PostgreSQL, or its driver, refuses something: read from the SQLSTATE."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from penstock.errors import DataError, ExternalError, PenstockError, StateError
from penstock.graph.sinks.jdbc_target import JdbcTarget, in_quotes
from penstock.spark.failures.causes import Cause, causes_of

_LONGEST_DETAIL = 500
_DRIVER: Final = ("org.postgresql.", "java.sql.")
_TLS = "javax.net.ssl."
_OTHER_HOST = "could not be verified by hostnameverifier"
_STAGED_KEY = re.compile(r'null value in column "(?P<column>.+)" of relation "penstock_staging_')

_REFUSED: Final = {"28": "JDBC_LOGIN_REFUSED", "3D": "JDBC_DATABASE_UNKNOWN", "42501": "JDBC_PERMISSION_DENIED"}
_UNDEFINED_TABLE = "42P01"
_UNSUITABLE: Final = {
    "3F000": ("its schema is not there", "Type CREATE SCHEMA, or correct dbtable or stagingSchema"),
    "428C9": ("the database computes a column itself that the flow gives", "Leave the column out of the flow's query"),
    "25006": ("the server is read-only", "Give the url of the primary server"),
}
_TYPES: Final = ("42804", "42846", "42883")
_PASSING: Final = ("40", "53", "55", "57", "58")
_AWAY: Final = ("08", "57P01", "57P02", "57P03", "57P05")


Facts = dict[str, Any]
"""What every error of a sink has: the place and name of its declaration, and the flow that writes to it."""


@contextmanager
def database_errors(place: Facts, target: JdbcTarget) -> Iterator[None]:
    """Raises what the database's refusals within the block mean; other exceptions stay as they are."""
    try:
        yield
    except Exception as error:
        if (known := database_failure(error, place, target)) is not None:
            raise known from error
        raise


def database_failure(error: BaseException, place: Facts, target: JdbcTarget) -> PenstockError | None:
    """Returns what the database has refused, None for a failure of anything else.

    Also for the failure of a Spark job whose task wrote to the database.
    """
    causes = tuple(causes_of(error))
    said = [cause for cause in causes if cause.class_name.startswith(_DRIVER) and cause.sql_state]
    if not said:
        return None
    last = said[-1]
    state, detail = last.sql_state or "", _in_one_line(last)
    if any(cause.class_name.startswith(_TLS) for cause in causes) or state == "08004" or _OTHER_HOST in last.message:
        return ExternalError("JDBC_TLS_REFUSED", **place, detail=detail)
    if state.startswith(_AWAY):
        return ExternalError("SERVICE_UNREACHABLE", **place, detail=detail)
    for beginning, condition in _REFUSED.items():
        if state.startswith(beginning):
            return ExternalError(condition, **place, table=target.table.sql, detail=detail)
    return (
        _about_the_table(state, detail, place, target)
        or _about_the_rows(state, last.message, detail, place, target)
        or _other(state, detail, place, target)
    )


def _about_the_table(state: str, detail: str, place: Facts, target: JdbcTarget) -> PenstockError | None:
    table = target.table
    if state == "42P10":
        keys = ", ".join(in_quotes(key) for key in target.keys)
        statement = f"CREATE UNIQUE INDEX ON {table.sql} ({keys});"
        listed = ", ".join(target.keys)
        return StateError("JDBC_KEYS_NOT_UNIQUE", **place, table=table, keys=listed, statement=statement)
    if state == _UNDEFINED_TABLE and "penstock_staging_" in detail:  # the start of another process has dropped it
        return StateError("JDBC_WRITTEN_BY_ANOTHER", **place, table=table)
    if state in _TYPES:
        return StateError("JDBC_TYPE_MISMATCH", **place, table=table, reason=detail)
    if state in _UNSUITABLE:
        reason, way_out = _UNSUITABLE[state]
        reason = f"{reason} ({detail})"
        return StateError("JDBC_TABLE_UNSUITABLE", **place, table=table, reason=reason, way_out=way_out)
    return None


def _about_the_rows(state: str, message: str, detail: str, place: Facts, target: JdbcTarget) -> PenstockError | None:
    table = target.table
    if state == "23502" and (found := _STAGED_KEY.search(message)) is not None:
        return DataError("JDBC_KEY_NULL", **place, table=table, column=found["column"], detail=detail)
    if state == "23505" and "penstock_staging_" in message:
        reason = "a task of Spark has written its rows twice"
        return ExternalError("JDBC_WRITE_INTERRUPTED", **place, table=table, detail=reason)
    if state.startswith("23"):
        return DataError("JDBC_CONSTRAINT_VIOLATED", **place, table=table, detail=detail)
    if state.startswith("22"):
        return DataError("JDBC_VALUE_REFUSED", **place, table=table, detail=detail)
    return None


def _other(state: str, detail: str, place: Facts, target: JdbcTarget) -> PenstockError:
    if state == "55P03":
        seconds = target.lock_seconds
        return ExternalError("JDBC_TABLE_LOCKED", **place, table=target.table, seconds=seconds)
    condition = "JDBC_WRITE_INTERRUPTED" if state.startswith(_PASSING) else "JDBC_FAILED"
    return ExternalError(condition, **place, table=target.table, detail=f"{detail} ({state})")


def _in_one_line(cause: Cause) -> str:
    """PostgreSQL's message and its detail, such as the row; without the statement, which has all rows of a batch."""
    text = " ".join(cause.message.removeprefix("ERROR: ").removeprefix("FATAL: ").split())
    text = re.sub(r" (Where|Position|Location|File|Hint): .*", "", text)
    return text if len(text) <= _LONGEST_DETAIL else text[:_LONGEST_DETAIL] + "…"
