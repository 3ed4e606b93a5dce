"""Chooses how a materialized view is refreshed, and makes the rows for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import first_line
from penstock.events import RefreshChoice, RefreshMethod
from penstock.events.flows.refresh_costs import (
    NOTHING_MEASURED,
    Attempt,
    Candidate,
    RefreshCost,
    RefreshHistory,
    decide,
)
from penstock.spark import _jvm
from penstock.spark.accelerators.accelerator import TABLE_CHANGES
from penstock.spark.accelerators.table_changes import newest_snapshot, size_of
from penstock.spark.writers.incremental.counted import NotCounted, counted_changes
from penstock.spark.writers.incremental.groups import is_added_once, merged_columns, merged_rows, rows_of_added
from penstock.spark.writers.incremental.inputs import NotKnown, VersionedInputs
from penstock.spark.writers.incremental.shape import Node, Operator, obstacle, shape_of
from penstock.spark.writers.incremental.signed import ChangedGroups, changed_groups
from penstock.spark.writers.incremental.touched import ReplacedRows, keys_of, recomputed

MOST_CHANGED: Final = 0.5
"""With more of the bytes of its changed inputs new or gone, a view is computed in full, unless measures say better."""

REWRITTEN_BELOW: Final = 64 * 1024 * 1024
"""A view with fewer bytes is written anew, from its own rows and those that changed: Delta's MERGE takes longer."""

MOST_KEYS: Final = 0.2
"""With more keys touched, for each row of the view, all of it is computed, unless measures say better."""


@dataclass(frozen=True, slots=True)
class Refresh:
    """A refresh that is ready to be written.

    `rows` come into the view. With `replaced`, rows of the view leave it before. With `rewrites`, rows are all that the
    view then has. Where rows are applied so, `in_full` gives, for a reason, the refresh to do instead. `versions` are
    those of the inputs that the view then stands for; None when its rows may be newer than what is noted. `cost` is
    what is measured with its seconds.
    """

    choice: RefreshChoice
    rows: DataFrame
    versions: Mapping[str, str] | None
    in_full: Callable[[str], Refresh] | None = None
    rewrites: bool = False
    replaced: ReplacedRows | None = None
    cost: RefreshCost | None = None


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
    it in full where that is cheaper, by the `history` of its refreshes. A view with fewer bytes than `rewritten_below`
    is written anew.
    """

    path: str
    names: Mapping[str, str]
    last: Mapping[str, str] | None
    counted: bool = False
    dropping: bool = False
    by_cost: bool = True
    rewritten_below: int = REWRITTEN_BELOW
    history: RefreshHistory = NOTHING_MEASURED

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
    began = time.time()
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

    judge = _Judge(view, inputs, began)

    def in_full(why: str) -> Refresh:
        pinned = _jvm.frame_of(spark, inputs.pinned(_jvm.without_ctes(frame)))
        choice = replace(_full(why, able), bytes_read=inputs.size, bytes_in_full=inputs.size)
        chosen, attempt = judge.full_chosen, judge.attempt
        cost = RefreshCost(view.history, time.time(), inputs.size, inputs.changed_size, chosen, attempt)
        return Refresh(judge.noted(choice), pinned, inputs.versions, cost=cost)

    try:
        stored = view.stored(spark)
        refresh = _incremental(query, stored, able, judge)
        read = _bytes_read(refresh.choice.method, stored, inputs)
        choice = replace(refresh.choice, why=judge.why, bytes_read=read, bytes_in_full=inputs.size)
        cost = RefreshCost(view.history, began, judge.work, inputs.changed_size)
        return replace(refresh, choice=judge.noted(choice), in_full=in_full, cost=cost)
    except NotKnown as unknown:
        return in_full(str(unknown))
    except (PySparkException, Py4JJavaError) as error:
        return in_full(f"what has changed cannot be read: {first_line(error)}")


@dataclass(slots=True)
class _Judge:
    """Weighs an incremental refresh against a full one, and keeps what was found for the event and the measure."""

    view: View
    inputs: VersionedInputs
    began: float
    why: str = ""
    work: int | None = None
    full_chosen: bool = False
    begun: tuple[RefreshMethod, int] | None = None
    estimated: Mapping[RefreshMethod, float] = field(default_factory=dict)

    def weigh(self, method: RefreshMethod, work: int, *, share: float, most: float, said: str, spent: bool) -> None:
        """Goes on with `method` when it is to be done.

        Raises:
            NotKnown: a full refresh is to be done.
        """
        self.work = work
        if not self.view.by_cost:
            return
        gone = time.time() - self.began if spent else 0.0
        decision = decide(self.view.history, Candidate(method, work, self.inputs.size, share, most, said, gone))
        self.estimated = decision.estimated
        self.full_chosen = decision.full
        if decision.full:
            if self.begun is not None and self.begun[0] is method and self.view.history.of(method):
                self.begun = None  # what it takes to its end is known
            raise NotKnown(decision.why)
        self.begun = self.begun or (method, work)
        self.why = decision.why

    @property
    def attempt(self) -> Attempt | None:
        """What was begun by another method, until now."""
        return None if self.begun is None else Attempt(self.begun[0], time.time() - self.began, self.begun[1])

    def noted(self, choice: RefreshChoice) -> RefreshChoice:
        """Returns a choice with the estimated and the measured seconds of its candidates."""
        methods = (*choice.able, RefreshMethod.FULL)
        newest = {method: found[-1].seconds for method in methods if (found := self.view.history.of(method))}
        return replace(choice, estimated=self.estimated, measured=newest)


def _bytes_read(method: RefreshMethod, stored: StoredView, inputs: VersionedInputs) -> int:
    match method:
        case RefreshMethod.RECOMPUTE_KEYS:
            return inputs.size + inputs.changed_size + stored.size
        case _ if not inputs.changed_size:
            read = 0
        case _:
            read = inputs.changed_size + inputs.unchanged_size
    return read + (0 if method is RefreshMethod.APPEND_ROWS else stored.size)


def _full(why: str, able: Capability | None = None) -> RefreshChoice:
    return RefreshChoice(RefreshMethod.FULL, why, () if able is None else able.methods)


def _incremental(query: Node, stored: StoredView, able: Capability, judge: _Judge) -> Refresh:
    view, inputs = judge.view, judge.inputs
    _look(query, stored, inputs)

    def by(method: RefreshMethod) -> RefreshChoice:
        share = inputs.changed_share
        work, said = _bytes_read(method, stored, inputs), f"{share:.0%} of what it reads has changed"
        judge.weigh(method, work, share=share, most=MOST_CHANGED, said=said, spent=False)
        return RefreshChoice(method, "", able.methods, share)

    spark, versions = inputs.spark, inputs.versions
    if not query.reads(inputs.changed):
        nothing = _jvm.frame_of(spark, query.plan).limit(0)
        return Refresh(RefreshChoice(RefreshMethod.APPEND_ROWS, "", able.methods, 0.0), nothing, versions)
    linear = obstacle(query, inputs.changed) is None
    only_added = not inputs.removes and is_added_once(query, inputs.changed)
    if linear and only_added:
        return Refresh(by(RefreshMethod.APPEND_ROWS), rows_of_added(query, inputs), versions)
    ansi = spark.conf.get("spark.sql.ansi.enabled") == "true"
    merged = merged_columns(query, inputs.changed) if ansi and not view.counted else None
    if merged is not None and (only_added or merged.takes_back):
        choice = by(RefreshMethod.MERGE_GROUPS)
        if only_added and stored.is_rewritten:
            rows = merged_rows(stored.rows, rows_of_added(query, inputs), merged)
            return Refresh(choice, rows, versions, rewrites=True)
        return _grouped(choice, changed_groups(query, merged, stored.rows, inputs), query, stored, judge)
    if linear:
        if view.dropping:
            raise NotKnown("rows were removed from what it reads, and its expectations drop rows")
        choice = by(RefreshMethod.CHANGE_ROWS)
        try:
            rows, replaced = counted_changes(query, view.path, inputs)
        except NotCounted as reason:
            raise NotKnown(str(reason)) from reason
        return _replacing(choice, rows, replaced, stored, inputs)
    keys = keys_of(query, inputs.changed)
    if keys is None:
        raise NotKnown("rows were removed from what it reads, or changed")
    choice = by(RefreshMethod.RECOMPUTE_KEYS)
    rows, replaced = recomputed(query, keys, inputs)
    if view.by_cost:
        _weigh_keys(replaced.values.count(), "keys have changed", stored, judge)
    return _replacing(choice, rows, replaced, stored, inputs)


def _grouped(choice: RefreshChoice, groups: ChangedGroups, query: Node, stored: StoredView, judge: _Judge) -> Refresh:
    """Returns the refresh of a view by its changed groups; open ones are those whose keys are recomputed."""
    inputs, rows = judge.inputs, groups.rows
    if count := groups.open.count():
        if not groups.touched.keys:
            raise NotKnown("what was removed is the least or greatest of all rows, or may be the last value of a sum")
        if judge.view.by_cost:
            _weigh_keys(count, "groups do not follow from what has changed", stored, judge)
        choice = replace(choice, method=RefreshMethod.RECOMPUTE_KEYS)
        rows = groups.computed(query, inputs)
    if not groups.touched.keys:
        return Refresh(choice, rows, inputs.versions, rewrites=True)
    return _replacing(choice, rows, groups.touched, stored, inputs)


def _weigh_keys(touched: int, what: str, stored: StoredView, judge: _Judge) -> None:
    """Goes on when so many keys are to be recomputed.

    Raises:
        NotKnown: a full refresh is to be done.
    """
    method, size, there = RefreshMethod.RECOMPUTE_KEYS, judge.inputs.size, stored.rows.count()
    said, share = f"{touched:,} {what}, and the view has {there:,} rows", touched / max(there, 1)
    work = _bytes_read(method, stored, judge.inputs) + int(min(share, 1.0) * size)
    judge.weigh(method, work, share=share, most=MOST_KEYS, said=said, spent=True)


def _types(frame: DataFrame) -> dict[str, str]:
    """Values that are converted when they are written can neither be found again nor be added to."""
    return {field.name.casefold(): field.dataType.simpleString() for field in frame.schema}


def _look(query: Node, stored: StoredView, inputs: VersionedInputs) -> None:
    """Finds out what has changed.

    Raises:
        NotKnown: why the view is not refreshed by that.
    """
    if _types(stored.rows) != _types(_jvm.frame_of(inputs.spark, query.plan)):
        raise NotKnown("its table has columns of other types than its query")
    inputs.look()


def _replacing(
    choice: RefreshChoice, rows: DataFrame, replaced: ReplacedRows, stored: StoredView, inputs: VersionedInputs
) -> Refresh:
    if not stored.is_rewritten:
        return Refresh(choice, rows, inputs.versions, replaced=replaced)
    return Refresh(choice, replaced.kept_of(stored.rows).unionByName(rows), inputs.versions, rewrites=True)
