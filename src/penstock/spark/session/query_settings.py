"""The `spark_conf` of a flow, in force while its query is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession


def spark_settings(conf: Mapping[str, object]) -> dict[str, str]:
    """Returns what of a `spark_conf` is for Spark; `pipelines.*` is Penstock's."""
    return {key: str(value) for key, value in conf.items() if not key.startswith("pipelines.")}


@contextmanager
def query_settings(spark: SparkSession, conf: Mapping[str, str]) -> Iterator[None]:
    """Sets `conf` on the session, and puts back what was set before; a query keeps what was set when it was made.

    Raises:
        PySparkException: a setting that Spark does not let be changed.
    """
    before = {key: spark.conf.get(key, None) for key in conf}
    changed: list[str] = []
    try:
        for key, value in conf.items():
            spark.conf.set(key, value)
            changed.append(key)
        yield
    finally:
        for key in changed:
            old = before[key]
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)
