"""How a batch of few rows is merged into a table."""

from __future__ import annotations

from typing import Final

from pyspark.sql import SparkSession

FEW_ROWS: Final = 100_000
"""They may pass through the driver, and one task is enough for them."""


def small_batch_conf(spark: SparkSession) -> dict[str, str]:
    """Settings for few rows: each query is planned once (see docs/decisions/budget-of-a-change-batch.md).

    Adaptive execution plans again after each shuffle and broadcast, and Delta then looks for its files once more. It is
    left alone where it has partitions to put together.
    """
    partitions = int(spark.conf.get("spark.sql.shuffle.partitions") or 0)
    few = partitions <= spark.sparkContext.defaultParallelism
    return {"spark.sql.adaptive.enabled": "false"} if few else {}
