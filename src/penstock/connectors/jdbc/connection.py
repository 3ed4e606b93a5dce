"""The driver's connection to a database, made as the executors make theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from penstock.graph.sinks.jdbc_target import connection_options
from penstock.spark import _jvm

DRIVER = "org.postgresql.Driver"
_DEFAULTS = {
    "driver": DRIVER,
    "reWriteBatchedInserts": "true",  # several rows a statement: three times as fast
    "connectTimeout": "10",
    "tcpKeepAlive": "true",
    "ApplicationName": "penstock",
}


def with_defaults(options: Mapping[str, str]) -> dict[str, str]:
    """Returns what of a sink's options its connections have, with Penstock's defaults below the user's."""
    chosen = connection_options(options)
    given = {name.casefold() for name in chosen}
    return {**{name: value for name, value in _DEFAULTS.items() if name.casefold() not in given}, **chosen}


class Connection:
    """One connection; its errors are Java's (`Py4JJavaError`), for `database_failure` to read."""

    def __init__(self, java: Any) -> None:
        self._java = java

    def execute(self, statement: str, *values: str | int) -> int:
        """Runs a statement that returns no rows; returns how many it changed."""
        prepared = self._prepared(statement, values)
        try:
            return int(prepared.executeUpdate())
        finally:
            prepared.close()

    def query(self, statement: str, *values: str | int) -> list[tuple[str | None, ...]]:
        """Returns the few rows of a query, all values as texts."""
        prepared = self._prepared(statement, values)
        try:
            found = prepared.executeQuery()
            columns = range(1, int(found.getMetaData().getColumnCount()) + 1)
            rows = []
            while found.next():
                rows.append(tuple(found.getString(column) for column in columns))
            return rows
        finally:
            prepared.close()

    @contextmanager
    def transaction(self, lock_seconds: int) -> Iterator[None]:
        """Commits at the end of the block, and nothing when it raises; a lock is waited for as long as that."""
        self._java.setAutoCommit(False)
        try:
            self.execute(f"SET LOCAL lock_timeout = '{lock_seconds}s'")
            self.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # a batch of Spark may take long
            yield
        except BaseException:
            with suppress(Py4JError):  # the connection may be what has failed
                self._java.rollback()
                self._java.setAutoCommit(True)
            raise
        self._java.commit()
        self._java.setAutoCommit(True)

    def _prepared(self, statement: str, values: tuple[str | int, ...]) -> Any:
        prepared = self._java.prepareStatement(statement)
        for position, value in enumerate(values, start=1):
            if isinstance(value, int):
                prepared.setLong(position, value)
            else:
                prepared.setString(position, value)
        return prepared


@contextmanager
def connected(spark: SparkSession, options: Mapping[str, str]) -> Iterator[Connection]:
    """Opens a connection for the length of the block; `options` are those of Spark's JDBC writer, with `url`."""
    java = _jvm.jvm(spark)
    url = next(value for name, value in options.items() if name.casefold() == "url")
    settings = _jvm.scala_map(spark, options)
    parsed = java.org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions(url, "none", settings)
    # Spark's own factory: it knows the driver's class, and Kerberos.
    opened = java.org.apache.spark.sql.jdbc.JdbcDialects.get(url).createConnectionFactory(parsed).apply(-1)
    try:
        yield Connection(opened)
    finally:
        with suppress(Py4JError):
            opened.close()


def unknown_options(spark: SparkSession, names: list[str]) -> list[str]:
    """Returns the options that the driver of PostgreSQL does not know."""
    known = _jvm.jvm(spark).org.postgresql.PGProperty
    return [name for name in names if known.forName(name) is None]
