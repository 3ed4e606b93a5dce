"""What each parameter of the declaration functions accepts.

A name has the same type in every function, so there is one table of types; `REFUSALS` and `WITHOUT_EFFECT` are about
the parameters of tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.graph.elements import OutputMode, RefreshPolicy


@dataclass(frozen=True, slots=True)
class ParameterType:
    """A type in the user's words, and its check."""

    expected: str
    accepts: Callable[[object], bool]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a value of a known parameter is not supported yet, and what to write instead.

    `accepts` lets pass the values that ask for nothing more than Penstock does anyway.
    """

    reason: str
    alternative: str
    accepts: Callable[[object], bool]


def _is_filled_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_names(value: object) -> bool:
    return isinstance(value, list | tuple) and all(_is_filled_text(item) for item in value)


def _is_columns(value: object) -> bool:
    return isinstance(value, list | tuple) and all(is_constraint(item) for item in value)


def _is_output_mode(value: object) -> bool:
    return isinstance(value, str) and value.strip().casefold() in {mode.value for mode in OutputMode}


def _is_refresh_policy(value: object) -> bool:
    return isinstance(value, str) and value.strip().casefold() in {policy.value for policy in RefreshPolicy}


def _is_settings(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        _is_filled_text(key) and isinstance(item, str | bool | int | float) for key, item in value.items()
    )


def is_constraint(value: object) -> bool:
    """Whether `value` can be an expectation's rule: SQL text or a Spark Column."""
    return _is_filled_text(value) or _is_pyspark(value, "Column")


def _is_constraints(value: object) -> bool:
    return isinstance(value, Mapping) and all(_is_filled_text(key) and is_constraint(v) for key, v in value.items())


def _is_pyspark(value: object, name: str) -> bool:
    # By name, so that files can be checked without importing pyspark.
    return any(kind.__name__ == name and kind.__module__.startswith("pyspark.sql") for kind in type(value).__mro__)


_TEXT = ParameterType("a str", lambda value: isinstance(value, str))
_FILLED_TEXT = ParameterType("a non-empty str", _is_filled_text)
_FLAG = ParameterType("a bool", lambda value: isinstance(value, bool))
NAMES = ParameterType("a list of column names (str)", _is_names)
_SETTINGS = ParameterType("a dict of str to str", _is_settings)
CHANGES = ParameterType(
    "the name of a dataset (str), a DataFrame, or a function that returns one",
    lambda value: _is_filled_text(value) or callable(value) or _is_pyspark(value, "DataFrame"),
)
_EXPRESSION = ParameterType("a SQL expression (str) or a Column", is_constraint)
_COLUMNS = ParameterType("a list of column names (str) or Columns", _is_columns)
_CONSTRAINTS = ParameterType("a dict of names (str) to SQL conditions (str) or Columns", _is_constraints)

TYPES: Mapping[str, ParameterType] = {
    "query_function": ParameterType("a function (names and options are keyword arguments)", callable),
    "name": _FILLED_TEXT,
    "target": _FILLED_TEXT,
    "comment": _TEXT,
    "spark_conf": _SETTINGS,
    "table_properties": _SETTINGS,
    "partition_cols": NAMES,
    "cluster_by": NAMES,
    "cluster_by_auto": _FLAG,
    "path": _FILLED_TEXT,
    "schema": ParameterType(
        "a DDL str or a StructType", lambda value: _is_filled_text(value) or _is_pyspark(value, "StructType")
    ),
    "format": _FILLED_TEXT,
    "temporary": _FLAG,
    "private": _FLAG,
    "row_filter": _FILLED_TEXT,
    "output_mode": ParameterType("'append', 'complete' or 'update'", _is_output_mode),
    "refresh_policy": ParameterType("'auto', 'incremental', 'incremental_strict' or 'full'", _is_refresh_policy),
    "once": _FLAG,
    "options": _SETTINGS,
    "user_event_hook_fn": ParameterType("a function (options are keyword arguments)", callable),
    "max_allowable_consecutive_failures": ParameterType(
        "an int of 0 or more", lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0
    ),
    "sink_function": ParameterType("a function (names and options are keyword arguments)", callable),
    "inv": ParameterType("a SQL condition (str) or a Column", is_constraint),
    "expectations": _CONSTRAINTS,
    "expect_all": _CONSTRAINTS,
    "expect_all_or_drop": _CONSTRAINTS,
    "expect_all_or_fail": _CONSTRAINTS,
    "expect_all_or_quarantine": _CONSTRAINTS,
    "source": ParameterType("the name of a dataset (str)", _is_filled_text),
    "keys": _COLUMNS,
    "sequence_by": _EXPRESSION,
    "where": _EXPRESSION,
    "apply_as_deletes": _EXPRESSION,
    "apply_as_truncates": _EXPRESSION,
    "ignore_null_updates": _FLAG,
    "ignore_null_updates_column_list": _COLUMNS,
    "ignore_null_updates_except_column_list": _COLUMNS,
    "column_list": _COLUMNS,
    "except_column_list": _COLUMNS,
    "columns_to_update": _EXPRESSION,
    "system_sequence_by": _EXPRESSION,
    "stored_as_scd_type": ParameterType(
        "1 or 2", lambda value: isinstance(value, int | str) and str(value) in {"1", "2"}
    ),
    "track_history_column_list": _COLUMNS,
    "track_history_except_column_list": _COLUMNS,
    "flow_name": _FILLED_TEXT,
}

REFUSALS: Mapping[str, Refusal] = {
    "system_sequence_by": Refusal(
        "a target has one time line, that of sequence_by",
        "Remove it, and keep the history of sequence_by with stored_as_scd_type=2",
        lambda value: False,
    ),
    "format": Refusal(
        "tables are Delta tables, because exactly-once writes and atomic refreshes need its log",
        "Remove format, or write format='delta'",
        lambda value: str(value).strip().casefold() == "delta",
    ),
}

WITHOUT_EFFECT: Mapping[str, Refusal] = {
    "cluster_by_auto": Refusal(
        "clustering columns are not chosen automatically",
        "Name the columns with cluster_by=[...] to cluster the table",
        lambda value: value is False,
    ),
}
"""Values that change no row: they are taken with a notice, and the parameter has its default."""


def output_mode_of(value: str | None) -> OutputMode | None:
    """Returns the output mode that a parameter names in any case of letters."""
    return None if value is None else OutputMode(value.strip().casefold())


def refresh_policy_of(value: str | None) -> RefreshPolicy:
    """Returns the refresh policy that a parameter names in any case of letters."""
    return RefreshPolicy.AUTO if value is None else RefreshPolicy(value.strip().casefold())


def describe(value: object) -> str:
    """Returns what `value` is, in a word or two; never its content, which could be a secret."""
    kind = type(value).__name__
    if isinstance(value, str) and not value.strip():
        return "an empty str"
    if isinstance(value, Mapping):
        inner = sorted({f"{type(key).__name__} to {type(item).__name__}" for key, item in value.items()})
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        inner = sorted({type(item).__name__ for item in value})
    else:
        return "a function" if callable(value) and not isinstance(value, type) else kind
    return f"{kind} of {', '.join(inner)}" if inner else f"empty {kind}"


def texts(settings: Mapping[str, object] | None) -> dict[str, str]:
    """Returns settings as Spark wants them: every value a str, booleans as `true` and `false`."""
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in (settings or {}).items()
    }
