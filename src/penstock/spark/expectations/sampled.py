"""Expectations on the sample of a query's result, without a table: which rows meet them, and how many."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from penstock.events.types import ExpectationCount
from penstock.graph.elements import EventPart, Expectation, OnViolation, UniqueKey
from penstock.graph.identifier import Identifier
from penstock.graph.sql.names import quoted
from penstock.spark.expectations.observed import condition, with_missing_references

_MEETS = "_penstock_sample_meets_"


@dataclass(frozen=True, slots=True)
class JudgedSample:
    """The rows that no expectation keeps out, as a frame and as values, and what the expectations say.

    `whole` says that the query has no more rows than were judged.
    """

    frame: DataFrame
    rows: tuple[tuple[Any, ...], ...]
    counts: tuple[ExpectationCount, ...]
    whole: bool


def judge_sample(
    frame: DataFrame,
    expectations: Sequence[Expectation],
    *,
    dataset: Identifier,
    limit: int,
    collect: Callable[[DataFrame], list[tuple[Any, ...]]],
) -> JudgedSample:
    """Computes at most `limit` rows of a query, once, and judges them; a broken rule of kind FAIL only takes its rows.

    `collect` returns the rows of a frame as Python values.

    Raises:
        AnalysisException: an expectation cannot be resolved.
        Exception: what the query fails with.
    """
    rules = [each for each in expectations if not isinstance(each.constraint, EventPart)]
    names = [f"{_MEETS}{position}" for position in range(len(rules))]
    columns = frame.columns
    # Held by Spark, so that who reads the dataset computes nothing again, and sees the same rows.
    held = _judged(frame, dict(zip(names, rules, strict=True))).limit(limit + 1).localCheckpoint()
    found = collect(held)
    whole, found = len(found) <= limit, found[:limit]
    counts, entering = [], [True] * len(found)
    for position, rule in enumerate(rules):
        met = [bool(row[len(columns) + position]) for row in found]
        counts.append(
            ExpectationCount(
                name=rule.name,
                dataset=str(dataset),
                passed_records=sum(met),
                failed_records=len(met) - sum(met),
                action=rule.on_violation.value,
            )
        )
        if rule.on_violation is not OnViolation.WARN:
            entering = [before and now for before, now in zip(entering, met, strict=True)]
    rows = tuple(row[: len(columns)] for row, enters in zip(found, entering, strict=True) if enters)
    barriers = [
        sf.col(name) for name, rule in zip(names, rules, strict=True) if rule.on_violation is not OnViolation.WARN
    ]
    kept = held.where(functools.reduce(operator.and_, barriers)) if barriers else held
    return JudgedSample(kept.drop(*names).limit(limit), rows, tuple(counts), whole)


def _judged(frame: DataFrame, rules: dict[str, Expectation]) -> DataFrame:
    """Adds a column for each rule that says whether a row meets it."""
    conditions = {name: _condition(rule) for name, rule in rules.items()}
    try:
        return frame.withColumns(conditions)
    except AnalysisException:
        judged = with_missing_references(frame, conditions)
        if judged is None:
            raise
        return judged


def _condition(rule: Expectation) -> Column:
    if not isinstance(rule.constraint, UniqueKey):
        return condition(rule)
    keys = [sf.col(quoted(name)) for name in rule.constraint.columns]
    nothing = functools.reduce(operator.or_, (key.isNull() for key in keys))
    return nothing | (sf.row_number().over(Window.partitionBy(*keys).orderBy(sf.lit(1))) == 1)
