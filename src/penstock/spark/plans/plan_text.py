"""A query's plan as text and as JSON, for fingerprints that are the same in the next process."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark.sql import SparkSession

from penstock.spark import _jvm

ALL_FIELDS: Final = 2**31 - 1
"""As many columns of a wide relation as there can be."""

LAMBDA_NAME: Final = r"(?<=\blambda )\w+(?=#)"
"""A pattern: the name of an argument in a function of elements, which Spark generates where Python calls it."""

CTE_ID: Final = r"(?<=CTERelationDef )\d+|(?<=CTERelationRef )\d+"
"""A pattern: the number that Spark generates for a common table expression."""

_METRICS_ID = re.compile(r"(CollectMetrics .*), \d+$")


def plan_lines(plan: Any) -> list[str]:
    """Returns the text of a whole `LogicalPlan` by line, without Spark's numbers of observed queries."""
    tree = str(plan.treeString(True, False, ALL_FIELDS, False, False))
    return [_METRICS_ID.sub(r"\1", line) for line in tree.splitlines()]


@dataclass(slots=True)
class Ordinals:
    """Gives each generated id the number of its first appearance."""

    seen: dict[str, int] = field(default_factory=dict)

    def of(self, generated: object) -> int:
        """Returns the number of an id."""
        return self.seen.setdefault(str(generated), len(self.seen))


_ANY_NUMBER = 2**31 - 1


def plan_json(spark: SparkSession, plan: Any, *, most: int = _ANY_NUMBER) -> str | None:
    """Returns `plan.toJSON()`, None for a plan with more than `most` expressions.

    Spark cannot write every plan, and raises a Py4JJavaError then. Compressed on its way: py4j sends more than 8 kB in
    several packets, and TCP has the second one wait 40 ms.
    """
    try:
        written = _jvm.jvm(spark).penstock.plans.PlanJson.compressed(plan, most)
    except TypeError:  # a session without Penstock's classes: py4j took the class for a package
        return str(plan.toJSON())
    return zlib.decompress(written).decode() if written else None
