"""`create_auto_cdc_flow` and `apply_changes`: change events that are applied to a streaming table by key."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from penstock.declare.declaration import Declaration, declaring
from penstock.declare.parameters import CHANGES, texts
from penstock.declare.reads import read, read_stream
from penstock.graph.elements import ALL_COLUMNS, ChangeFlow, ColumnSelection, FlowFunction

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def column_selection(
    call: Declaration, parameter: str, listed: Sequence[Any] | None, excluded: Sequence[Any] | None
) -> ColumnSelection | None:
    """Returns the columns that a pair of parameters, one its `except` twin, chooses; None for neither.

    Both together are an error, which is recorded; the list counts then.
    """
    if listed is not None and excluded is not None:
        call.error(
            "AUTOCDC_BOTH_COLUMN_LIST_AND_EXCEPT_COLUMN_LIST",
            function=call.function,
            parameter=parameter,
            other=parameter.replace("column_list", "except_column_list"),
        )
    if listed is not None:
        return ColumnSelection(tuple(listed))
    return None if excluded is None else ColumnSelection(tuple(excluded), excluded=True)


def _change_flow(  # noqa: PLR0917 - the order of the `dlt` API
    call: Declaration,
    /,
    target: str,
    source: str | DataFrame | Callable[[], DataFrame],
    keys: Sequence[str | Column],
    sequence_by: str | Column,
    where: str | Column | None = None,
    ignore_null_updates: bool | None = None,
    apply_as_deletes: str | Column | None = None,
    apply_as_truncates: str | Column | None = None,
    column_list: Sequence[str | Column] | None = None,
    except_column_list: Sequence[str | Column] | None = None,
    stored_as_scd_type: Literal[1, 2, "1", "2"] = 1,
    track_history_column_list: Sequence[str | Column] | None = None,
    track_history_except_column_list: Sequence[str | Column] | None = None,
    flow_name: str | None = None,
    once: bool = False,
    ignore_null_updates_column_list: Sequence[str | Column] | None = None,
    ignore_null_updates_except_column_list: Sequence[str | Column] | None = None,
    columns_to_update: str | Column | None = None,
    name: str | None = None,
    comment: str | None = None,
    spark_conf: Mapping[str, str] | None = None,
    system_sequence_by: str | Column | None = None,
) -> None:
    listed_nulls = column_selection(
        call,
        "ignore_null_updates_column_list",
        ignore_null_updates_column_list,
        ignore_null_updates_except_column_list,
    )
    columns = column_selection(call, "column_list", column_list, except_column_list)
    track_history = column_selection(
        call, "track_history_column_list", track_history_column_list, track_history_except_column_list
    )
    identifier = call.identifier(target)
    if identifier is None:
        return
    # What does not fit together is reported by the rules over the whole graph, not here.
    call.registry.add_flow(
        ChangeFlow(
            name=name or flow_name or identifier.name,
            target=identifier,
            function=call.registry.bound(_reading(source, once=once)),
            location=call.location,
            spark_conf=texts(spark_conf),
            comment=comment,
            once=once,
            keys=tuple(keys),
            sequence_by=sequence_by,
            scd_type=2 if str(stored_as_scd_type) == "2" else 1,
            where=where,
            apply_as_deletes=apply_as_deletes,
            apply_as_truncates=apply_as_truncates,
            ignore_null_updates=listed_nulls or (ALL_COLUMNS if ignore_null_updates else None),
            columns=columns,
            track_history=track_history,
            columns_to_update=columns_to_update,
        )
    )


def _reading(source: Any, *, once: bool) -> FlowFunction:
    """Returns what reads the events: of a dataset by its name, else the user's own function or DataFrame."""
    if isinstance(source, str):
        return lambda: read(source) if once else read_stream(source)
    return source if callable(source) else lambda: source


_TYPES = {"source": CHANGES}

create_auto_cdc_flow = declaring(
    _change_flow,
    name="create_auto_cdc_flow",
    types=_TYPES,
    doc="""Applies a stream of change events to a streaming table: one row a key, or each key's history.

    The result depends on the events alone, not on the order in which they arrive. Events of one key
    should differ in `sequence_by`; of two that do not, a delete wins, else one of them.

    Args:
        target: The streaming table, declared with `create_streaming_table`. Required.
        source: The name of the dataset or table with the events, read as a stream; or a function that returns the
            events, or a DataFrame: a stream, unless `once`. Required.
        keys: The columns that identify a row. Required.
        sequence_by: Orders the events of a key: a column, or `struct(...)` of several. Required.
        where: A condition that all events meet; others go to the target's quarantine.
        ignore_null_updates: NULL in an event leaves the older value; default: False.
        apply_as_deletes: A condition; an event that meets it deletes the row.
        apply_as_truncates: A condition; an event that meets it deletes all rows. SCD type 1 only.
        column_list, except_column_list: The columns that reach the target, or that do not; default: all.
        stored_as_scd_type: 1 (default) keeps the newest row of each key, 2 the history, with
            `__START_AT` and `__END_AT` of the type of `sequence_by`.
        track_history_column_list, track_history_except_column_list: The columns whose change starts a new
            row of the history, or does not; a change of the others updates the row in place. SCD type 2 only.
        flow_name, name: Keys the flow's checkpoint; default: the target's name; once per target.
        once: Read the source as a batch, one time, and again only after a full refresh.
        ignore_null_updates_column_list, ignore_null_updates_except_column_list: `ignore_null_updates`
            for these columns, or for all others.
        comment: Shown in the lineage.
        spark_conf: Settings of this query; they win over the target's.
        columns_to_update: A column of the source, an array of column names: an event changes these
            columns, to NULL as well, and leaves the others as they are; NULL stands for all. Not together with
            what ignores NULLs.
        system_sequence_by: Refused, with the reason.
    """,
)
apply_changes = declaring(
    _change_flow, name="apply_changes", types=_TYPES, doc="""The old name of `create_auto_cdc_flow`."""
)
