"""Chooses how a materialized view is refreshed, and makes the rows for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import first_line
from penstock.events import RefreshChoice, RefreshMethod
from penstock.spark import _jvm
from penstock.spark.accelerators.accelerator import TABLE_CHANGES
from penstock.spark.accelerators.table_changes import newest_snapshot, size_of
from penstock.spark.writers.incremental.counted import NotCounted, counted_changes
from penstock.spark.writers.incremental.groups import (
    MergedColumns,
    is_added_once,
    merged_columns,
    merged_rows,
    rows_of_added,
)
from penstock.spark.writers.incremental.inputs import NotKnown, VersionedInputs
from penstock.spark.writers.incremental.shape import Node, Operator, obstacle, shape_of
from penstock.spark.writers.incremental.touched import ReplacedRows, keys_of, recomputed

MOST_CHANGED: Final = 0.5
"""With more of the bytes of its changed inputs new or gone, a view is computed in full: that is one pass over them."""

REWRITTEN_BELOW: Final = 64 * 1024 * 1024
"""A view with fewer bytes is written anew, from its own rows and those that changed: Delta's MERGE takes longer."""

MOST_KEYS: Final = 0.2
"""With more keys touched, for each row of the view, all of it is computed: their rows are read either way."""


@dataclass(frozen=True, slots=True)
class Refresh:
    """A refresh that is ready to be written.

    `rows` come into the view. With `replaced`, rows of the view leave it before. With `merged`, rows change those of
    the view that have the same keys. With `rewrites`, rows are all that the view then has. Where rows are applied so,
    `in_full` gives, for a reason, the refresh to do instead. `versions` are those of the inputs that the view then
    stands for; None when its rows may be newer than what is noted.
    """

    choice: RefreshChoice
    rows: DataFrame
    versions: Mapping[str, str] | None
    in_full: Callable[[str], Refresh] | None = None
    rewrites: bool = False
    replaced: ReplacedRows | None = None
    merged: MergedColumns | None = None


@dataclass(frozen=True, slots=True)
class Capability:
    """By which methods a query can be refreshed; with none, `why` says what of it stands against that."""

    methods: tuple[RefreshMethod, ...] = ()
    why: str = ""


def capability(frame: DataFrame) -> Capability:
    """Returns by which methods a batch query can be refreshed, whatever changes in the tables that it reads.

    `frame` is over the stored tables, or over relations marked by `penstock.spark.plans.definition.marked_source`.
    """
    return _capability(shape_of(frame))


def _capability(query: Node) -> Capability:
    stands = obstacle(query, _any)
    if stands is None:
        return Capability((RefreshMethod.APPEND_ROWS, RefreshMethod.CHANGE_ROWS))
    merged, keys = merged_columns(query, _any), keys_of(query, _any)
    methods = [RefreshMethod.MERGE_GROUPS] * (merged is not None) + [RefreshMethod.RECOMPUTE_KEYS] * (keys is not None)
    return Capability(tuple(methods), "" if methods else _why(query, stands))


def _why(query: Node, node: Node) -> str:
    unknown = next((each for each in query.walk() if each.operator is Operator.OTHER), None)
    if unknown is not None:
        return f"its query has {unknown.why}"
    match node.operator:
        case Operator.GROUPS if node.plan.groupingExpressions().isEmpty():
            return (
                "it aggregates all rows into one, with a function that is not sum, count, min or max,"
                " nor avg of integers or decimals beside the sum and the count of the same"
            )
        case Operator.GROUPS:
            return "no column of its result is one that it groups by"
        case Operator.WINDOW:
            return "no column of its result is one of PARTITION BY"
        case Operator.JOIN:
            return f"both sides of a {node.kind} join can change, and no column of its result identifies the rows"
        case _:
            return f"its query has {node.kind}"


def _any(_: Node) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class View:
    """The view to be refreshed: where it is, and how its rows are judged.

    `names` are those of its inputs, by path, `last` the versions that its present rows stand for, None for not known.
    `counted` says that expectations judge its rows, `dropping` that some are left out then. `by_cost` allows to compute
    it in full where that is cheaper. A view with fewer bytes than `rewritten_below` is written anew.
    """

    path: str
    names: Mapping[str, str]
    last: Mapping[str, str] | None
    counted: bool = False
    dropping: bool = False
    by_cost: bool = True
    rewritten_below: int = REWRITTEN_BELOW

    def stored(self, spark: SparkSession) -> StoredView:
        """Returns it as it is.

        Raises:
            NotKnown: it is not known what its rows stand for.
        """
        if self.last is None:
            raise NotKnown("there is no refresh to go on from")
        rows = spark.read.format("delta").load(self.path)
        size = size_of(newest_snapshot(spark, _jvm.file_index(_jvm.analyzed_plan(rows))))
        return StoredView(rows, size, is_rewritten=size < self.rewritten_below)


@dataclass(frozen=True, slots=True)
class StoredView:
    """The present rows of a view, the bytes of its data files, and whether it is written anew when rows change."""

    rows: DataFrame
    size: int
    is_rewritten: bool


def choose_refresh(frame: DataFrame, view: View, conf: Mapping[str, str]) -> Refresh:
    """Returns how the view is refreshed with a query's present result, with the rows for it.

    Jobs that find out which rows these are run under the settings `conf`.
    """
    spark = _jvm.cloned_session(frame.sparkSession, conf)
    frame = _jvm.frame_of(spark, _jvm.analyzed_plan(frame))
    if not TABLE_CHANGES.applies():
        return Refresh(_full(f"the accelerator {TABLE_CHANGES.name} is off"), frame, None)
    query = shape_of(frame)
    able = _capability(query)
    if not able.methods:
        return Refresh(_full(able.why), frame, None)
    try:
        inputs = VersionedInputs.of(spark, query, view.names, view.last)
    except NotKnown as unknown:
        return Refresh(_full(str(unknown)), frame, None)

    def in_full(why: str) -> Refresh:
        pinned = _jvm.frame_of(spark, inputs.pinned(_jvm.without_ctes(frame)))
        choice = replace(_full(why, able), bytes_read=inputs.size, bytes_in_full=inputs.size)
        return Refresh(choice, pinned, inputs.versions)

    try:
        stored = view.stored(spark)
        refresh = _incremental(query, view, stored, inputs, able)
        choice = replace(refresh.choice, bytes_read=_bytes_read(refresh, stored, inputs), bytes_in_full=inputs.size)
        return replace(refresh, choice=choice, in_full=in_full)
    except NotKnown as unknown:
        return in_full(str(unknown))
    except (PySparkException, Py4JJavaError) as error:
        return in_full(f"what has changed cannot be read: {first_line(error)}")


def _bytes_read(refresh: Refresh, stored: StoredView, inputs: VersionedInputs) -> int:
    match refresh.choice.method:
        case RefreshMethod.RECOMPUTE_KEYS:
            read = inputs.size + inputs.changed_size
        case _ if inputs.changed_size:
            read = inputs.changed_size + inputs.unchanged_size
        case _:
            read = 0
    return read + (stored.size if refresh.replaced or refresh.merged or refresh.rewrites else 0)


def _full(why: str, able: Capability | None = None) -> RefreshChoice:
    return RefreshChoice(RefreshMethod.FULL, why, () if able is None else able.methods)


def _incremental(query: Node, view: View, stored: StoredView, inputs: VersionedInputs, able: Capability) -> Refresh:
    _look(query, view, stored, inputs)

    def by(method: RefreshMethod) -> RefreshChoice:
        return RefreshChoice(method, "", able.methods, inputs.changed_share)

    spark, versions = inputs.spark, inputs.versions
    if not query.reads(inputs.changed):
        nothing = _jvm.frame_of(spark, query.plan).limit(0)
        return Refresh(by(RefreshMethod.APPEND_ROWS), nothing, versions)
    linear = obstacle(query, inputs.changed) is None
    if not inputs.removes and is_added_once(query, inputs.changed):
        if linear:
            return Refresh(by(RefreshMethod.APPEND_ROWS), rows_of_added(query, inputs), versions)
        ansi = spark.conf.get("spark.sql.ansi.enabled") == "true"
        merged = merged_columns(query, inputs.changed) if ansi and not view.counted else None
        if merged is not None:
            added = rows_of_added(query, inputs)
            if stored.is_rewritten:
                rows = merged_rows(stored.rows, added, merged)
                return Refresh(by(RefreshMethod.MERGE_GROUPS), rows, versions, rewrites=True)
            return Refresh(by(RefreshMethod.MERGE_GROUPS), added, versions, merged=merged)
    if linear:
        if view.dropping:
            raise NotKnown("rows were removed from what it reads, and its expectations drop rows")
        try:
            rows, replaced = counted_changes(query, view.path, inputs)
        except NotCounted as reason:
            raise NotKnown(str(reason)) from reason
        return _replacing(by(RefreshMethod.CHANGE_ROWS), rows, replaced, stored, inputs)
    keys = keys_of(query, inputs.changed)
    if keys is None:
        raise NotKnown("rows were removed from what it reads, or changed")
    rows, replaced = recomputed(query, keys, inputs)
    if view.by_cost and (touched := replaced.values.count()) > MOST_KEYS * (there := stored.rows.count()):
        raise NotKnown(f"{touched:,} keys have changed, and the view has {there:,} rows")
    return _replacing(by(RefreshMethod.RECOMPUTE_KEYS), rows, replaced, stored, inputs)


def _types(frame: DataFrame) -> dict[str, str]:
    """Values that are converted when they are written can neither be found again nor be added to."""
    return {field.name.casefold(): field.dataType.simpleString() for field in frame.schema}


def _look(query: Node, view: View, stored: StoredView, inputs: VersionedInputs) -> None:
    """Finds out what has changed.

    Raises:
        NotKnown: why the view is not refreshed by that.
    """
    if _types(stored.rows) != _types(_jvm.frame_of(inputs.spark, query.plan)):
        raise NotKnown("its table has columns of other types than its query")
    inputs.look()
    if view.by_cost and inputs.changed_share > MOST_CHANGED:
        raise NotKnown(f"{inputs.changed_share:.0%} of what it reads has changed")


def _replacing(
    choice: RefreshChoice, rows: DataFrame, replaced: ReplacedRows, stored: StoredView, inputs: VersionedInputs
) -> Refresh:
    if not stored.is_rewritten:
        return Refresh(choice, rows, inputs.versions, replaced=replaced)
    return Refresh(choice, replaced.kept_of(stored.rows).unionByName(rows), inputs.versions, rewrites=True)
