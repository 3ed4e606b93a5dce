"""Spark of this process for a command that would start its own: it finds nothing that another one has left there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from penstock.spark._jvm import java_session, jvm
from penstock.spark.session.session import lend


@dataclass(slots=True)
class Lender:
    """Lends the Spark that `spark` is a session of.

    A command gets a session with its own settings, temporary views and functions. The tables of Spark's catalog and
    what is cached are those of `_root`, so neither do queries of `spark` answer it, nor does it change `spark`.
    """

    spark: SparkSession
    _root: SparkSession | None = None

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Inside the block `start_session` returns a new session, if it is asked for the same settings.

        Raises:
            OtherSettingsError: others were asked for.
        """
        with self._default_kept():
            self._root = root = self._root or self._new_root()
            session = root.newSession()
            _make_default(session)
            # Delta keeps the state of tables, which may have been deleted and made again meanwhile.
            jvm(self.spark).org.apache.spark.sql.delta.DeltaLog.clearCache()
            lend(session)
            try:
                yield
            finally:
                lend(None)

    def tidy(self) -> None:
        """Has what a command has cached forgotten, and a catalog with tables or functions that it has left."""
        if self._root is None:
            return
        self._root.catalog.clearCache()
        left = ("SHOW TABLES IN default", "SHOW VIEWS IN global_temp", "SHOW USER FUNCTIONS IN default")
        with self._default_kept():
            if self._root.sql("SHOW DATABASES").count() > 1 or any(self._root.sql(each).head() for each in left):
                self._root = None

    @contextmanager
    def _default_kept(self) -> Iterator[None]:
        try:
            yield
        finally:
            _make_default(self.spark)

    def _new_root(self) -> SparkSession:
        """Returns a session that shares nothing with the others but Spark itself."""
        java = _sessions(self.spark)
        java.clearDefaultSession()
        java.clearActiveSession()
        SparkSession._instantiatedSession = None
        return SparkSession(self.spark.sparkContext)


def _make_default(session: SparkSession) -> None:
    """Makes it the one that `SparkSession.builder.getOrCreate()` returns."""
    SparkSession._instantiatedSession = SparkSession._activeSession = session
    java = _sessions(session)
    java.setDefaultSession(java_session(session))
    java.setActiveSession(java_session(session))


def _sessions(spark: SparkSession) -> Any:
    return jvm(spark).org.apache.spark.sql.classic.SparkSession
