"""The Spark session of a benchmark: one of its own, or one for all of them when they only show that they work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from penstock.spark.session import session
from penstock.spark.session.launch import SessionConfig
from penstock.testing import session as test_session

_shared = False


def share_session() -> None:
    """Lets all benchmarks of this process run on the session of tests: to start Spark is most of a small benchmark."""
    global _shared  # noqa: PLW0603 - as a process has one session
    _shared = True


def shared_session() -> SparkSession:
    """Returns the shared session. Its tables have statistics, which those of tests have not: benchmarks read them."""
    return _with_statistics(test_session.shared_session())


@contextmanager
def session_of(name: str) -> Iterator[SparkSession]:
    """Yields a session of 2 GB on two cores, or the shared one, for a benchmark that runs within this process."""
    spark = start_session(SessionConfig(name=name, master="local[2]", spark_conf={"spark.driver.memory": "2g"}))
    try:
        yield spark
    finally:
        stop_session(spark)


def plain_session() -> SparkSession:
    """Returns a session beside the shared one, for hand-written programs: sources need no names, as in plain Spark."""
    spark = _with_statistics(shared_session().newSession())
    spark.conf.set("spark.sql.streaming.queryEvolution.enableSourceEvolution", "false")
    return spark


def _with_statistics(spark: SparkSession) -> SparkSession:
    spark.conf.set("spark.databricks.delta.stats.collect", "true")
    return spark


def is_shared() -> bool:
    """Whether the benchmarks of this process share a session."""
    return _shared


def start_session(config: SessionConfig) -> SparkSession:
    """Starts the session of a benchmark; returns the shared one, whatever `config` says, if there is one."""
    return shared_session() if _shared else session.start_session(config)


def stop_session(spark: SparkSession) -> None:
    """Stops the session of a benchmark; the shared one ends with the process."""
    if not _shared:
        session.stop_session(spark)
