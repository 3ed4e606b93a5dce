"""Spark's Thrift server on a session: Hive's protocol for clients, read-only, with names resolved by Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import ExternalError, PenstockError, render
from penstock.spark._jvm import callback_server, is_instance, java_session, jvm
from penstock.spark.failures.causes import causes_of

READ_ONLY_EXTENSION: Final = "penstock.serve.ReadOnlyExtension"
"""The last of `spark.sql.extensions` in the session of an endpoint."""

PASSWORDS: Final = "penstock.serve.Passwords"
_OF_LOGINS: Final = "hive.server2.custom."
_THRIFT: Final = "org.apache.hive.service.cli.thrift.ThriftCLIService"


class Answers(Protocol):
    """What the endpoint asks: about tables, users and limits. A refusal is a PenstockError."""

    def open(self, user: str, schema: str, name: str) -> DataFrame | None:
        """Returns what `user` sees of a table in its newest version, None if none of that name is served."""
        ...

    def visible(self, user: str, schema: str, tables: list[str]) -> list[str]:
        """Returns those of the tables of a schema that `user` finds in lists."""
        ...

    def admit(self, user: str) -> None:
        """Raises why `user` may not run a statement (any more)."""
        ...

    def record(self, user: str, statement: str, tables: list[str], rows: int) -> None:
        """Records that rows are about to be shown; raises why they must not be."""
        ...

    def authenticate(self, user: str, password: str) -> None:
        """Raises that the password is wrong."""
        ...

    def refusal(self, condition: str, subject: str) -> PenstockError:
        """Returns the error of a condition that the endpoint itself notices."""
        ...


@dataclass(slots=True)
class SqlEndpoint:
    """A Thrift server that runs."""

    _server: Any
    _endpoint: Any
    _door: _Door
    port: int

    @classmethod
    def start(
        cls,
        spark: SparkSession,
        answers: Answers,
        settings: Mapping[str, str],
        *,
        row_limit: int,
        query_timeout: int,
    ) -> SqlEndpoint:
        """Starts the server with these settings of Hive; limits of 0 are none. The session is to be no client's.

        Raises:
            ExternalError: SQL_ENDPOINT_FAILED.
        """
        callback_server(spark)
        java = jvm(spark)
        hadoop = spark.sparkContext._jsc.hadoopConfiguration()
        for key, value in settings.items():
            hadoop.set(key, value)
            if key.startswith(_OF_LOGINS):
                java.java.lang.System.setProperty(key, value)  # a login makes its own HiveConf, which reads these
        door = _Door(answers)
        endpoint = java.penstock.serve.Endpoint.open(java_session(spark), door, row_limit, query_timeout)
        starter = getattr(java.org.apache.spark.sql.hive.thriftserver, "HiveThriftServer2$")
        try:
            server = getattr(starter, "MODULE$").startWithSparkSession(java_session(spark), False)
        except Py4JJavaError as error:
            raise ExternalError("SQL_ENDPOINT_FAILED", reason=_message_of(error)) from error
        [thrift] = [each for each in server.getServices() if is_instance(each, _THRIFT)]
        return cls(server, endpoint, door, thrift.getPortNumber())

    def running(self) -> list[str]:
        """Returns the users of the queries that run, one for each query."""
        return list(self._endpoint.usersOfRunning())

    def count(self) -> int:
        """Returns how many queries have begun."""
        return int(self._endpoint.count())

    def ran_out_of_memory(self) -> bool:
        """Whether a query did since this was asked the last time: other threads may have, too."""
        return bool(self._endpoint.ranOutOfMemory())

    def cancel(self, user: str | None, condition: str) -> int:
        """Ends the queries of a user, or all, with this condition; returns how many."""
        return int(self._endpoint.cancel(user, condition))

    def stop(self) -> None:
        """Ends the queries and the server."""
        self.cancel(None, "SQL_ENDPOINT_STOPPED")
        self._server.stop()


class _Door:
    """`penstock.serve.Door`: the JVM calls it in threads of its own."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def open(self, user: str, schema: str, table: str) -> Any:
        """Returns a Java Dataset, None, or the text of an error."""
        found: list[DataFrame | None] = []
        text = _text_of_refusal(lambda: found.append(self._answers.open(user, schema, table)))
        if text is not None:
            return text
        return None if found[0] is None else found[0]._jdf

    def visible(self, user: str, schema: str, tables: str) -> str:
        """Returns the names of the tables in the user's lists."""
        return "\n".join(self._answers.visible(user, schema, tables.split("\n")))

    def admit(self, user: str) -> str | None:
        """Returns why the user may not ask."""
        return _text_of_refusal(lambda: self._answers.admit(user))

    def record(self, user: str, statement: str, tables: str, rows: int) -> str | None:
        """Returns why the rows must not be shown."""
        names = tables.split("\n") if tables else []
        return _text_of_refusal(lambda: self._answers.record(user, statement, names, rows))

    def authenticate(self, user: str, password: str) -> str | None:
        """Returns that the password is wrong."""
        return _text_of_refusal(lambda: self._answers.authenticate(user, password))

    def refusal(self, condition: str, subject: str) -> str:
        """Returns the text of the error."""
        return render(self._answers.refusal(condition, subject))

    class Java:
        """What py4j presents this as to the JVM."""

        implements = ("penstock.serve.Door",)


def _message_of(error: Py4JJavaError) -> str:
    """Returns what the innermost cause says."""
    return ([cause.message for cause in causes_of(error)] or [str(error)])[-1].strip().split("\n")[0]


def _text_of_refusal(ask: Callable[[], object]) -> str | None:
    try:
        ask()
    except PenstockError as error:
        return render(error)
    except Py4JJavaError as error:
        return _message_of(error)
    except Exception as error:  # noqa: BLE001 - a client gets its text, never a stack trace of Python
        return f"{type(error).__name__}: {error}"
    return None
