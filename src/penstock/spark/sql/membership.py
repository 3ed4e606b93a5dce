"""Databricks' functions `is_member` and `is_account_group_member`, for row filters and masks that differ by role."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from pyspark.sql import SparkSession

from penstock.access.grants import EVERYONE
from penstock.graph.sql.names import literal

_NAMES: Final = ("is_member", "is_account_group_member")
_CALL: Final = re.compile(rf"\b(?:{'|'.join(_NAMES)})\b", re.IGNORECASE)


def mentions_membership(texts: Iterable[str]) -> bool:
    """Whether one of the texts may call a function of this module."""
    return any(_CALL.search(text) for text in texts)


def define_membership(spark: SparkSession, roles: Mapping[str, frozenset[str]]) -> None:
    """Defines `is_member(role)` on the session: whether `current_user()` has the role; FALSE for an unknown role.

    Functions that call it see the newest definition.
    """
    cases = "".join(f" WHEN {literal(role)} THEN {_has(users)}" for role, users in sorted(roles.items()) if users)
    body = f"CASE role{cases} ELSE FALSE END" if cases else "FALSE"
    for name in _NAMES:
        spark.sql(f"CREATE OR REPLACE TEMPORARY FUNCTION {name}(role STRING) RETURNS BOOLEAN RETURN {body}")


def _has(users: frozenset[str]) -> str:
    if EVERYONE in users:
        return "TRUE"
    return f"current_user() IN ({', '.join(map(literal, sorted(users)))})"
