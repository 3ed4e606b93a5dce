"""A change flow's column names and expressions, resolved against the columns of its source."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, StringType, StructField, StructType

from penstock.errors import PenstockError, did_you_mean
from penstock.graph.elements import (
    ChangeFlow,
    ColumnSelection,
    EventPart,
    Expectation,
    ScdType,
    SnapshotChangeFlow,
)
from penstock.graph.resolved import AppliedChanges
from penstock.graph.sql.names import quoted
from penstock.spark.expectations.observed import condition

START_AT, END_AT = "__START_AT", "__END_AT"
_RESERVED = "__penstock"


@dataclass(frozen=True, slots=True)
class ResolvedChanges:
    """What to do with the rows of one change flow's source.

    `row` are the columns that reach the target, keys included, in the source's order. `ignoring` and
    `tracked` are names of them; `sequence`, `deletes` and `truncates` stand over the source's columns, and so
    does `updates`, an array of the names of the columns that an event changes, None for all. `conditions` are what the
    flow gives of `where`, `apply_as_deletes` and `apply_as_truncates`.
    """

    keys: tuple[str, ...]
    row: StructType
    scd_type: ScdType
    sequence: Column
    sequence_type: DataType
    deletes: Column
    truncates: Column
    ignoring: tuple[str, ...]
    tracked: tuple[str, ...]
    updates: Column | None = None
    conditions: tuple[Column, ...] = ()

    def followed(self, source: DataFrame) -> DataFrame:
        """Returns a query whose columns are made of the source's as those of the target are; it is not for running."""
        for condition_given in self.conditions:
            source = source.where(condition_given)
        newest = source.sort(self.sequence).dropDuplicates(list(self.keys))
        history = [self.sequence.alias(name) for name in (START_AT, END_AT)] if self.scd_type == 2 else []
        return newest.select(*(named(field.name) for field in self.row), *history)

    def fills(self, column: str) -> bool:
        """Whether the value of a column can come from an older event than the row's newest."""
        return column in self.ignoring or (self.updates is not None and column not in self.keys)

    @property
    def target_schema(self) -> StructType:
        """The columns of the target."""
        return target_schema(self.row, self.scd_type, self.sequence_type)

    @property
    def applied(self) -> AppliedChanges:
        """What the target depends on for good."""
        types = {field.name: field.dataType for field in self.row}
        return AppliedChanges(
            keys=tuple(f"{key} {types[key].simpleString()}" for key in self.keys),
            sequence_type=self.sequence_type.simpleString(),
            scd_type=self.scd_type,
            ignoring=self.ignoring,
            partial=self.updates is not None,
        )


def target_schema(row: StructType, scd_type: ScdType, sequence_type: DataType) -> StructType:
    """Returns `row`, with the two columns of the history for SCD type 2."""
    history = [StructField(START_AT, sequence_type), StructField(END_AT, sequence_type)] if scd_type == 2 else []
    return StructType([*row.fields, *history])


def resolve_changes(flow: ChangeFlow, source: DataFrame) -> ResolvedChanges:
    """Checks a change flow against the columns of its source.

    Raises:
        DefinitionError: a column that is not there, a key that is left out, a reserved name.
        AnalysisException: an expression that Spark cannot resolve, or a sequence without an order.
    """
    columns = _Columns(flow, source.schema)
    keys = columns.names(flow.keys, "keys")
    row = columns.selected(flow.columns, "column_list")
    chosen = tuple(field.name for field in row)
    for key in keys:
        if key not in chosen:
            raise columns.error("AUTOCDC_KEY_NOT_IN_SELECTED_SCHEMA", column=key)
    columns.check_names(chosen, flow.scd_type)
    inner = _Columns(flow, row)
    ignoring = inner.selected(flow.ignore_null_updates, "ignore_null_updates_column_list", nothing=True)
    tracked = inner.selected(flow.track_history, "track_history_column_list")
    sequence = columns.expression(flow.sequence_by)
    given = (flow.where, flow.apply_as_deletes, flow.apply_as_truncates)
    conditions = tuple(columns.expression(each) for each in given if each is not None)
    for each in conditions:
        source.where(each)  # Spark says what is wrong with it
    # Asks Spark whether sequence and keys have an order; nothing is executed.
    ordered = source.select(sf.max(sequence).alias("sequence"), sf.max(sf.struct(*map(named, keys))).alias("key"))
    return ResolvedChanges(
        keys=keys,
        row=row,
        scd_type=flow.scd_type,
        sequence=sequence,
        sequence_type=ordered.schema["sequence"].dataType,
        deletes=columns.truth(flow.apply_as_deletes),
        truncates=columns.truth(flow.apply_as_truncates),
        ignoring=_names_without(keys, ignoring),
        tracked=_names_without(keys, tracked),
        updates=None if flow.columns_to_update is None else _updates(columns, source),
        conditions=conditions,
    )


def _updates(columns: _Columns, source: DataFrame) -> Column:
    """Returns the names of the columns that an event changes, in small letters."""
    assert isinstance(columns.flow, ChangeFlow), "snapshots are whole"
    given = columns.expression(columns.flow.columns_to_update)
    kind = source.select(given.alias("names")).schema["names"].dataType
    if not (isinstance(kind, ArrayType) and isinstance(kind.elementType, StringType)):
        raise columns.error(
            "CHANGE_FLOW_OPTION_CONFLICT",
            reason=f"columns_to_update is of type {kind.simpleString()}, and not an array of column names",
            way_out="Return an array of strings from the source, for example split(names, ',')",
        )
    return sf.transform(given, sf.lower)


def resolve_snapshot(flow: SnapshotChangeFlow, snapshot: DataFrame) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the key columns of a snapshot, and the columns whose history is tracked.

    Raises:
        DefinitionError: a column that is not there, a reserved name.
    """
    columns = _Columns(flow, snapshot.schema)
    keys = columns.names(flow.keys, "keys")
    columns.check_names(snapshot.columns, flow.scd_type)
    return keys, _names_without(keys, columns.selected(flow.track_history, "track_history_column_list"))


def judged_expectations(
    flow: ChangeFlow | SnapshotChangeFlow, source: DataFrame, expectations: Iterable[Expectation]
) -> tuple[Expectation, ...]:
    """Returns the target's expectations as conditions on the rows of the flow's source.

    Events that delete or truncate meet what the user expects: such an event often has nothing but the key,
    and to drop it would keep the row that it deletes.
    """
    columns = _Columns(flow, source.schema)
    removes = None
    if isinstance(flow, ChangeFlow) and (flow.apply_as_deletes is not None or flow.apply_as_truncates is not None):
        removes = columns.truth(flow.apply_as_deletes) | columns.truth(flow.apply_as_truncates)

    def judged(expectation: Expectation) -> Any:
        match expectation.constraint:
            case EventPart.KEY:
                keys = [named(key) for key in columns.names(flow.keys, "keys")]
                present = functools.reduce(lambda left, right: left & right, [key.isNotNull() for key in keys])
                return columns.truth(flow.apply_as_truncates) | present if isinstance(flow, ChangeFlow) else present
            case EventPart.SEQUENCE:
                return columns.present(flow.sequence_by, source) if isinstance(flow, ChangeFlow) else sf.lit(True)
            case EventPart.WHERE:
                wanted = flow.where if isinstance(flow, ChangeFlow) else None
                return sf.lit(True) if wanted is None else columns.truth(wanted)
            case constraint if removes is None:
                return constraint
            case _:
                return removes | condition(expectation)

    return tuple(replace(each, constraint=judged(each)) for each in expectations)


def _names_without(keys: tuple[str, ...], columns: StructType) -> tuple[str, ...]:
    return tuple(field.name for field in columns if field.name not in keys)


def named(name: str) -> Column:
    """Returns the column of exactly that name."""
    return sf.col(quoted(name))


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns that a flow's arguments may name."""

    flow: ChangeFlow | SnapshotChangeFlow
    schema: StructType

    def names(self, given: Sequence[Any], parameter: str) -> tuple[str, ...]:
        """Returns the names as the schema spells them."""
        known = {name.casefold(): name for name in self.schema.fieldNames()}
        found = []
        for item in given:
            text = _column_name(item)
            name = known.get(text.casefold())
            if name is None:
                names = self.schema.fieldNames()
                suggestion = did_you_mean(text, names, also=f"The columns are {', '.join(names)}.")
                raise self.error(
                    "AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA", parameter=parameter, column=text, suggestion=suggestion
                )
            found.append(name)
        return tuple(dict.fromkeys(found))

    def selected(self, selection: ColumnSelection | None, parameter: str, *, nothing: bool = False) -> StructType:
        """Returns the fields that a selection chooses; without a selection all, or none."""
        if selection is None:
            return StructType([] if nothing else self.schema.fields)
        if selection.excluded:
            parameter = parameter.replace("column_list", "except_column_list")
        names = self.names(selection.columns, parameter)
        return StructType([field for field in self.schema if (field.name in names) is not selection.excluded])

    def expression(self, given: Any) -> Column:
        """Returns an argument as a column: a name, whatever its characters, else an expression."""
        if isinstance(given, Column):
            return given
        known = {name.casefold(): name for name in self.schema.fieldNames()}
        return named(known[given.casefold()]) if given.casefold() in known else sf.expr(given)

    def present(self, given: Any, source: DataFrame) -> Column:
        """Returns whether an argument has a value; one of several columns has none when a column of it has none."""
        column = self.expression(given)
        kind = source.select(column.alias("value")).schema["value"].dataType
        parts = kind.fieldNames() if isinstance(kind, StructType) else []
        values = [column, *(column.getField(part) for part in parts)]
        return functools.reduce(lambda left, right: left & right, [value.isNotNull() for value in values])

    def truth(self, given: Any) -> Column:
        """Returns a condition; NULL is no, and so is a condition that was not given."""
        return sf.lit(False) if given is None else sf.coalesce(self.expression(given), sf.lit(False))

    def check_names(self, names: Iterable[str], scd_type: ScdType) -> None:
        """Refuses names that the target needs for itself."""
        for name in names:
            history = scd_type == 2 and name.upper() in {START_AT, END_AT}
            if history or name.casefold().startswith(_RESERVED):
                raise self.error("AUTOCDC_RESERVED_COLUMN_NAME_PREFIX_CONFLICT", column=name)

    def error(self, condition_name: str, **facts: object) -> PenstockError:
        """Returns an error at the flow's place."""
        return self.flow.error(condition_name, flow=self.flow.name, target=self.flow.target, **facts)


def _column_name(given: Any) -> str:
    """Returns the name that a str or a Column stands for; that of an expression is no column's."""
    text = given if isinstance(given, str) else given._jc.toString()
    return str(text).strip().removeprefix("`").removesuffix("`").replace("``", "`")
