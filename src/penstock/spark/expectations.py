"""Expectations at no extra scan: one `observe()` with all counters, then one filter."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from penstock.events.types import ExpectationCount
from penstock.graph.elements import Expectation, OnViolation
from penstock.graph.identifier import Identifier
from penstock.spark import _jvm

FAILURE_MARK = "PENSTOCK_EXPECTATION_FAILED"
"""What `raise_error` says before the JSON list of broken expectations; `translate` looks for it."""

_TOTAL, _DROPPED = "total", "dropped"


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
                passed_records=total - values.get(f"failed_{index}", 0),
                failed_records=values.get(f"failed_{index}", 0),
                action=expectation.on_violation.value,
            )
            for index, expectation in enumerate(self.expectations)
        )

    def dropped(self, values: Mapping[str, int]) -> int:
        """Returns how many rows the dropping expectations took out, each row counted once."""
        return values.get(_DROPPED, 0)


def condition(expectation: Expectation) -> Column:
    """Returns TRUE for a row that meets the expectation, FALSE else; NULL is a failure."""
    constraint = expectation.constraint
    column = constraint if isinstance(constraint, Column) else sf.expr(constraint)
    return sf.coalesce(column.cast("boolean"), sf.lit(False))


def observe_expectations(
    frame: DataFrame, expectations: Sequence[Expectation], *, dataset: Identifier, occurrence: int
) -> tuple[DataFrame, ObservedExpectations]:
    """Counts, drops and fails in one pass over `frame`, which keeps its schema.

    `occurrence` tells apart two uses of the same view in one query. A row that breaks an
    expectation of kind FAIL raises inside the task, so the batch commits nothing.

    Raises:
        AnalysisException: a constraint does not resolve against the columns of `frame`.
    """
    conditions = [condition(expectation) for expectation in expectations]
    kept = _all(conditions, expectations, OnViolation.DROP)
    metric = f"penstock:{dataset}:{occurrence}"
    observed = ObservedExpectations(metric, dataset, tuple(expectations), _jvm.dataset_id(frame))
    counters = [
        sf.count(sf.lit(1)).alias(_TOTAL),
        sf.count_if(~kept).alias(_DROPPED),
        *(sf.count_if(~each).alias(f"failed_{index}") for index, each in enumerate(conditions)),
    ]
    frame = frame.observe(metric, *counters)
    if any(each.on_violation is OnViolation.FAIL for each in expectations):
        kept = sf.when(_all(conditions, expectations, OnViolation.FAIL), kept).otherwise(
            sf.raise_error(_failure(conditions, expectations, dataset)).cast("boolean")
        )
    if any(each.on_violation in {OnViolation.DROP, OnViolation.FAIL} for each in expectations):
        frame = frame.where(kept)
    return frame, observed


def count_output(frame: DataFrame, target: Identifier) -> tuple[DataFrame, ObservedExpectations]:
    """Counts the rows handed to a target that has no expectations of its own."""
    observed = ObservedExpectations(f"penstock:{target}:output", target, (), _jvm.dataset_id(frame))
    return frame.observe(observed.metric, sf.count(sf.lit(1)).alias(_TOTAL)), observed


def _all(conditions: Sequence[Column], expectations: Sequence[Expectation], action: OnViolation) -> Column:
    wanted = [
        each for each, expectation in zip(conditions, expectations, strict=True) if expectation.on_violation is action
    ]
    return functools.reduce(lambda left, right: left & right, wanted, sf.lit(True))


def _failure(conditions: Sequence[Column], expectations: Sequence[Expectation], dataset: Identifier) -> Column:
    broken = [
        sf.when(~each, sf.lit(expectation.name))
        for each, expectation in zip(conditions, expectations, strict=True)
        if expectation.on_violation is OnViolation.FAIL
    ]
    names = sf.to_json(sf.filter(sf.array(*broken), lambda name: name.isNotNull()))
    return sf.concat(sf.lit(f"{FAILURE_MARK}{json.dumps(str(dataset))}:"), names)
