"""Scripts of plain Spark with Delta, as people run them without Penstock: each is a process of its own."""

from __future__ import annotations

import sys

from penstock.spark.session.setup.jars import ensure_jars

_HEAD = """
import sys
from pyspark.sql import SparkSession

jars, *arguments = sys.argv[1:]
conf = {
    "spark.jars": jars,
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
builder = SparkSession.builder.master("local[2]")
for key, value in conf.items():
    builder = builder.config(key, value)
"""


def plain_spark(script: str, *arguments: str) -> list[str]:
    """Returns the command of a script, which gets `builder`, of a session that knows Delta, and its `arguments`."""
    jars = ",".join(map(str, ensure_jars("core")))
    return [sys.executable, "-c", _HEAD + script, jars, *arguments]
