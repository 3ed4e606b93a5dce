"""Expectations at no extra scan: one `observe()` with all counters, then one filter."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.events.types import ExpectationCount
from penstock.graph.companions.quarantine import SOURCE
from penstock.graph.elements import Expectation, OnViolation, UniqueKey
from penstock.graph.identifier import Identifier
from penstock.graph.sql.names import quoted
from penstock.spark import _jvm
from penstock.spark.plans.row_origin import row_origin

FAILURE_MARK = "PENSTOCK_EXPECTATION_FAILED"
"""What `raise_error` says before a JSON document; `translate` looks for it.

Its keys: `dataset`, `rules` (names), `row` (JSON as text, cut), and `origin` where it is known.
"""

_LONGEST_ROW = 500

REPEATS = "_penstock_repeats_"
"""Begins the names of the columns that say of a row whether it repeats a key; its place in the list follows."""

_MEETS = "_penstock_meets_"
"""Begins the names of the columns that say of a row whether it meets a rule; its place in the list follows."""

_CLOCKS = ("current_timestamp(", "current_date(", "current_time(", "localtimestamp(", "now(")
"""How Spark writes the functions that return the time of the query; a text that looks so costs a column."""

_TOTAL, _TRUSTED, _KEPT = "total", "trusted", "kept"
"""Counters: all rows, those that are not quarantined, those of them that are not dropped; a missing one says all."""


@dataclass(frozen=True, slots=True)
class ObservedExpectations:
    """How to read the counters of one dataset's expectations out of a query's observed metrics.

    `metric` is the name given to `observe()`; `dataset_id` is Spark's id of the observed DataFrame.
    """

    metric: str
    dataset: Identifier
    expectations: tuple[Expectation, ...]
    dataset_id: int

    def counts(self, values: Mapping[str, int]) -> tuple[ExpectationCount, ...]:
        """Returns passed and failed rows of each expectation, in the order of declaration."""
        total = values.get(_TOTAL, 0)
        return tuple(
            ExpectationCount(
                name=expectation.name,
                dataset=str(self.dataset),
                passed_records=values.get(_passed(index), total),
                failed_records=total - values.get(_passed(index), total),
                action=expectation.on_violation.value,
            )
            for index, expectation in enumerate(self.expectations)
        )

    def total(self, values: Mapping[str, int]) -> int | None:
        """Returns how many rows were counted; None when Spark did not report it."""
        return values.get(_TOTAL)

    def dropped(self, values: Mapping[str, int]) -> int:
        """Returns how many rows the dropping expectations took out, each row counted once."""
        return self._trusted(values) - self.kept(values)

    def quarantined(self, values: Mapping[str, int]) -> int:
        """Returns how many rows went to quarantine; a row that breaks a dropping rule too counts here only."""
        return values.get(_TOTAL, 0) - self._trusted(values)

    def kept(self, values: Mapping[str, int]) -> int:
        """Returns how many rows were neither dropped nor quarantined."""
        return values.get(_KEPT, self._trusted(values))

    def _trusted(self, values: Mapping[str, int]) -> int:
        return values.get(_TRUSTED, values.get(_TOTAL, 0))


def condition(expectation: Expectation) -> Column:
    """Returns TRUE for a row that meets the expectation, FALSE else; NULL is a failure."""
    return sf.coalesce(_rule(expectation), sf.lit(False))


def _rule(expectation: Expectation) -> Column:
    constraint = expectation.constraint
    column = constraint if isinstance(constraint, Column) else sf.expr(str(constraint))
    return column.cast("boolean")


def observe_expectations(
    frame: DataFrame, expectations: Sequence[Expectation], *, dataset: Identifier, occurrence: int
) -> tuple[DataFrame, ObservedExpectations]:
    """Counts, drops and fails in one pass over `frame`, which keeps its schema.

    Rows for the quarantine are taken out as well; `broken_rules` says for whoever writes the quarantine which
    they are. Whether rows are unique is not checked, because that takes more than one pass.
    `occurrence` distinguishes two uses of the same view in one query. A row that breaks an
    expectation of kind FAIL raises inside the task, so the batch commits nothing. A constraint may refer to a column
    that the query dropped or renamed, as a filter of Spark's may.

    Raises:
        AnalysisException: a constraint resolves neither against the columns of `frame` nor as its `where`.
    """
    for each in expectations:
        if isinstance(each.constraint, UniqueKey):
            keys = [sf.col(quoted(column)) for column in each.constraint.columns]
            frame.select(*(key.eqNullSafe(key) for key in keys))  # refuses what is not there, or cannot be compared
    expectations = [each for each in expectations if not isinstance(each.constraint, UniqueKey)]
    metric = f"penstock:{dataset}:{occurrence}"
    try:
        return _observed(frame, expectations, dataset, metric)
    except AnalysisException:
        rules = _rules(expectations)
        judged = with_missing_references(frame, rules)
        if judged is None:
            raise
    answered = [replace(each, constraint=sf.col(name)) for each, name in zip(expectations, rules, strict=True)]
    frame, observed = _observed(judged, answered, dataset, metric)
    return frame.drop(*rules), observed


def _observed(
    frame: DataFrame, expectations: Sequence[Expectation], dataset: Identifier, metric: str
) -> tuple[DataFrame, ObservedExpectations]:
    conditions = [condition(expectation) for expectation in expectations]
    trusted = _all(conditions, expectations, OnViolation.QUARANTINE)
    kept = trusted & _all(conditions, expectations, OnViolation.DROP)
    observed = ObservedExpectations(metric, dataset, tuple(expectations), _jvm.dataset_id(frame))
    # What passes is counted: two thirds of the cost of counting what fails, where each condition is evaluated twice.
    counters = [
        sf.count(sf.lit(1)).alias(_TOTAL),
        *([_count(trusted, _TRUSTED)] if _any(expectations, OnViolation.QUARANTINE) else []),
        *([_count(kept, _KEPT)] if _any(expectations, OnViolation.DROP) else []),
        *(_count(_rule(each), _passed(index)) for index, each in enumerate(expectations)),
    ]
    frame = frame.observe(metric, *counters)
    kept = _or_fail(kept, frame, conditions, expectations, dataset)
    if any(each.on_violation is not OnViolation.WARN for each in expectations):
        frame = frame.where(kept)
    return frame, observed


def with_judgements(frame: DataFrame, expectations: Sequence[Expectation]) -> DataFrame:
    """Adds a column for each rule that the rows alone do not answer later, for `broken_rules`.

    These are rules that read the clock or are random. As a part of the query a rule is computed once, and its
    `current_timestamp()` is what the checkpoint holds for the batch: a batch that runs again is judged as before.
    A rule may also refer to a column that the query dropped: then all rules get a column.
    `is_judgement` recognises the columns.
    """
    rules = _rules(expectations)
    try:
        judged = _jvm.analyzed_plan(frame.select(*(rule.alias(name) for name, rule in rules.items())))
    except AnalysisException:
        answered = with_missing_references(frame, rules)
        if answered is None:
            raise
        return answered
    moving = {str(each.name()) for each in _jvm.scala_seq(judged.projectList()) if _moves(each)}
    return frame.withColumns({name: rule for name, rule in rules.items() if name in moving}) if moving else frame


def _rules(expectations: Sequence[Expectation]) -> dict[str, Column]:
    """Returns the conditions, by the names of the columns for what they say of a row."""
    return {
        f"{_MEETS}{position}": condition(each)
        for position, each in enumerate(expectations)
        if not isinstance(each.constraint, UniqueKey)
    }


def _moves(expression: Any) -> bool:
    return not expression.deterministic() or any(clock in str(expression.sql()) for clock in _CLOCKS)


def is_judgement(column: str) -> bool:
    """Whether a column was added to judge a row by."""
    return column.startswith((_MEETS, REPEATS))


def meets(frame: DataFrame, expectations: Sequence[Expectation], position: int) -> Column:
    """Returns whether a row of `frame` meets the rule at `position`, as `with_judgements` has found or computed now."""
    judged = f"{_MEETS}{position}"
    return sf.col(judged) if judged in frame.columns else condition(expectations[position])


def broken_rules(frame: DataFrame, expectations: Sequence[Expectation], *, dataset: Identifier) -> Column:
    """Returns what keeps a row of `frame` out of its table: NULL for a row that goes in, else an array of rules' names.

    The array is empty for a row that is dropped; for one that goes to quarantine it holds the
    quarantining and dropping rules that the row breaks. A row that breaks a rule of kind FAIL raises.
    For rules of uniqueness `frame` has the columns of `penstock.spark.expectations.uniqueness.mark_repeats`.
    """
    conditions = _conditions(frame, expectations)
    trusted = _all(conditions, expectations, OnViolation.QUARANTINE)
    kept = trusted & _all(conditions, expectations, OnViolation.DROP)
    names = [
        sf.when(~each, sf.lit(expectation.name))
        for each, expectation in zip(conditions, expectations, strict=True)
        if expectation.on_violation in {OnViolation.DROP, OnViolation.QUARANTINE}
    ]
    broken = sf.filter(sf.array(*names), lambda name: name.isNotNull())
    nothing = sf.lit(None).cast("array<string>")
    outcome = sf.when(kept, nothing).when(trusted, sf.array().cast("array<string>")).otherwise(broken)
    return _or_fail(outcome, frame, conditions, expectations, dataset)


def count_broken(frame: DataFrame, expectations: Sequence[Expectation], outcome: str) -> dict[str, int]:
    """Counts in one job over a batch frame whose column `outcome` holds `broken_rules`; see `ObservedExpectations`."""
    conditions = _conditions(frame, expectations)
    counters = [
        sf.count(sf.lit(1)).alias(_TOTAL),
        _count(sf.col(outcome).isNull() | (sf.size(outcome) == 0), _TRUSTED),
        _count(sf.col(outcome).isNull(), _KEPT),
        *(_count(each, _passed(index)) for index, each in enumerate(conditions)),
    ]
    return {name: int(value) for name, value in frame.agg(*counters).collect()[0].asDict().items()}


def count_output(frame: DataFrame, target: Identifier) -> tuple[DataFrame, ObservedExpectations]:
    """Counts the rows handed to a target that has no expectations of its own."""
    observed = ObservedExpectations(f"penstock:{target}:output", target, (), _jvm.dataset_id(frame))
    return frame.observe(observed.metric, sf.count(sf.lit(1)).alias(_TOTAL)), observed


def _conditions(frame: DataFrame, expectations: Sequence[Expectation]) -> list[Column]:
    return [
        ~sf.col(f"{REPEATS}{position}")
        if isinstance(each.constraint, UniqueKey)
        else meets(frame, expectations, position)
        for position, each in enumerate(expectations)
    ]


def _passed(index: int) -> str:
    return f"passed_{index}"


def _count(rows: Column, name: str) -> Column:
    return sf.count(sf.when(rows, sf.lit(1))).alias(name)


def _any(expectations: Sequence[Expectation], action: OnViolation) -> bool:
    return any(each.on_violation is action for each in expectations)


def _all(conditions: Sequence[Column], expectations: Sequence[Expectation], action: OnViolation) -> Column:
    wanted = [
        each for each, expectation in zip(conditions, expectations, strict=True) if expectation.on_violation is action
    ]
    return functools.reduce(lambda left, right: left & right, wanted, sf.lit(True))


def _or_fail(
    outcome: Column,
    frame: DataFrame,
    conditions: Sequence[Column],
    expectations: Sequence[Expectation],
    dataset: Identifier,
) -> Column:
    """Returns `outcome`, except that a row which breaks an expectation of kind FAIL raises."""
    if all(each.on_violation is not OnViolation.FAIL for each in expectations):
        return outcome
    broken = [
        sf.when(~each, sf.lit(expectation.name))
        for each, expectation in zip(conditions, expectations, strict=True)
        if expectation.on_violation is OnViolation.FAIL
    ]
    rules = sf.filter(sf.array(*broken), lambda name: name.isNotNull())
    failure = sf.raise_error(failure_message(frame, rules, dataset))
    return sf.when(_all(conditions, expectations, OnViolation.FAIL), outcome).otherwise(failure)


def failure_message(frame: DataFrame, rules: Column, dataset: Identifier) -> Column:
    """Returns what `raise_error` says of a row of `frame` that breaks `rules`, an array of names."""
    origin = sf.col(SOURCE) if SOURCE in frame.columns else row_origin(frame)
    parts = {
        "dataset": sf.lit(str(dataset)),
        "rules": rules,
        "row": sf.substring(_as_text(frame), 1, _LONGEST_ROW),
        **({} if origin is None else {"origin": origin}),
    }
    document = sf.struct(*(part.alias(name) for name, part in parts.items()))
    return sf.concat(sf.lit(FAILURE_MARK), sf.to_json(document))


def _as_text(frame: DataFrame) -> Column:
    """Returns a row's values as JSON, or as Spark prints them when a type has no JSON."""
    names = [name for name in frame.columns if name != SOURCE and not is_judgement(name)]
    row = sf.struct(*(sf.col(quoted(name)) for name in names))
    text = sf.to_json(row, {"ignoreNullFields": "false"})
    try:
        frame.select(text)
    except AnalysisException:
        return row.cast("string")
    return text


def with_missing_references(frame: DataFrame, conditions: Mapping[str, Column]) -> DataFrame | None:
    """Adds boolean `conditions` as columns, by name, where one refers to a column that only the query's input has.

    Spark resolves such a reference in a `where`, and there alone: its analyzer takes the column through the projections
    below the filter, and leaves it out again above. Returns None when a `where` does not resolve them either, or when
    no column is missing.
    """
    try:
        filtered = _jvm.analyzed_plan(frame.where(sf.coalesce(*conditions.values())))
    except AnalysisException:
        return None
    above = _jvm.scala_seq(filtered.children())
    if filtered.getClass().getSimpleName() != "Project" or above[0].getClass().getSimpleName() != "Filter":
        return None
    spark, condition = frame.sparkSession, above[0]
    widened = _jvm.frame_of(spark, condition.child())
    own = [_jvm.column_of(spark, attribute) for attribute in _jvm.scala_seq(filtered.projectList())]
    resolved = [_jvm.column_of(spark, each) for each in _jvm.scala_seq(condition.condition().children())]
    return widened.select(*own, *(each.alias(name) for name, each in zip(conditions, resolved, strict=True)))
