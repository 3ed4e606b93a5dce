"""The whole of a query's plan in one call."""

from __future__ import annotations

import zlib
from typing import Any

from pyspark.sql import SparkSession

from penstock.spark import _jvm

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
