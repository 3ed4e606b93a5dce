"""`create_auto_cdc_from_snapshot_flow` and `apply_changes_from_snapshot`: the differences of whole snapshots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from penstock.declare.declaration import Declaration, declaring
from penstock.declare.flows.change_flows import column_selection
from penstock.declare.parameters import ParameterType, describe, texts
from penstock.declare.reads import read
from penstock.graph.elements import FlowFunction, NextSnapshot, SnapshotChangeFlow

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    Snapshots = Callable[[Any], tuple[DataFrame, Any] | None]


def _snapshot_flow(  # noqa: PLR0917 - the order of the `dlt` API
    call: Declaration,
    /,
    target: str,
    source: str | Snapshots | tuple[DataFrame, Any] | None = None,
    keys: Sequence[str | Column] | None = None,
    stored_as_scd_type: Literal[1, 2, "1", "2"] | None = None,
    snapshot_and_version: Snapshots | tuple[DataFrame, Any] | None = None,
    track_history_column_list: Sequence[str | Column] | None = None,
    track_history_except_column_list: Sequence[str | Column] | None = None,
    name: str | None = None,
    comment: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
) -> None:
    identifier = call.identifier(target)
    if identifier is None:
        return
    parameter = "source" if snapshot_and_version is None else "snapshot_and_version"
    given = source if snapshot_and_version is None else snapshot_and_version
    twice = source is not None and snapshot_and_version is not None
    if twice or not _is_source(given):
        if given is None:
            call.error("MISSING_PARAMETER", function=call.function, parameter=parameter)
        else:
            expected = "nothing, because source is given" if twice else _SOURCE
            facts = {"parameter": parameter, "expected": expected, "got": describe(given)}
            call.error("INVALID_PARAMETER", function=call.function, **facts)
        call.registry.refuse(identifier)
        return
    bound: FlowFunction
    if isinstance(given, str):
        next_snapshot, bound = None, call.registry.bound(lambda: read(given))
    else:
        next_snapshot = call.registry.bound(_as_function(given))
        bound = _first_of(next_snapshot)
    call.registry.add_flow(
        SnapshotChangeFlow(
            name=name or identifier.name,
            target=identifier,
            function=bound,
            location=call.location,
            spark_conf=texts(spark_conf),
            comment=comment,
            keys=tuple(keys or ()),
            scd_type=2 if str(stored_as_scd_type) == "2" else 1,
            next_snapshot=next_snapshot,
            track_history=column_selection(
                call, "track_history_column_list", track_history_column_list, track_history_except_column_list
            ),
        )
    )


def _as_function(given: Any) -> NextSnapshot:
    """A single `(DataFrame, version)` is what a function would return once."""
    if not isinstance(given, tuple):
        function: NextSnapshot = given
        return function
    return lambda latest: given if latest is None or given[1] > latest else None


def _first_of(next_snapshot: NextSnapshot) -> FlowFunction:
    def first() -> Any:
        found = next_snapshot(None)
        return found[0] if isinstance(found, tuple) else found

    return first


def _is_source(value: object) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return callable(value) or (isinstance(value, tuple) and len(value) == 2)


_SOURCE = (
    "the name of a dataset (str), a function (latest_version) -> (DataFrame, version), or one (DataFrame, version)"
)
_CHECKED_HERE = ParameterType(_SOURCE, lambda value: True)  # one of two parameters, so that one error says it all
_TYPES = {"source": _CHECKED_HERE, "snapshot_and_version": _CHECKED_HERE}


create_auto_cdc_from_snapshot_flow = declaring(
    _snapshot_flow,
    name="create_auto_cdc_from_snapshot_flow",
    required=("keys",),
    types=_TYPES,
    doc="""Applies the differences between whole snapshots of a table to a streaming table.

    Args:
        target: The streaming table, declared with `create_streaming_table`. Required.
        source: The name of a dataset or table, which is read as one snapshot at each update; or a function
            `(latest_version) -> (DataFrame, version) | None`, which is called with the newest version
            taken (None at first) until it returns None. Versions grow. Required.
        keys: The columns that identify a row. Required.
        stored_as_scd_type: 1 (default) keeps the newest snapshot's rows, 2 the history, with `__START_AT`
            and `__END_AT`: versions, or for a named source the times of the updates.
        snapshot_and_version: The older name of a function given as `source`; instead of it.
        track_history_column_list, track_history_except_column_list: The columns whose change starts a new
            row of the history, or does not. SCD type 2 only.
        name: Names the flow; default: the target's name.
        comment: Shown in the lineage.
        spark_conf: Settings of the queries; they win over the target's.
    """,
)
apply_changes_from_snapshot = declaring(
    _snapshot_flow,
    name="apply_changes_from_snapshot",
    required=("keys",),
    types=_TYPES,
    doc="""The old name of `create_auto_cdc_from_snapshot_flow`.""",
)
