"""The one door to the JVM: nothing outside `penstock.spark` may import this module."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import SparkSession


def jvm(spark: SparkSession) -> Any:
    """Returns py4j's view of the JVM, on which `jvm.java.lang.System` and the like resolve."""
    return spark._jvm


def java_session(spark: SparkSession) -> Any:
    """Returns the `org.apache.spark.sql.classic.SparkSession` behind `spark`."""
    return spark._jsparkSession


def java_list(spark: SparkSession, items: Iterable[object]) -> Any:
    """Returns a new `java.util.ArrayList` with `items`, which py4j must know how to convert."""
    result = jvm(spark).java.util.ArrayList()
    for item in items:
        result.add(item)
    return result


def hadoop_configuration(spark: SparkSession) -> Any:
    """Returns a new Hadoop `Configuration` with the session's settings applied."""
    return java_session(spark).sessionState().newHadoopConf()
