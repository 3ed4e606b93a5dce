"""The SQL endpoint of a pipeline's storage, from its start to its stop."""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from pyspark.sql import DataFrame

from penstock.access.grants import Access
from penstock.access.store import access_of
from penstock.config import PipelineConfig
from penstock.config.sections.serve import ServeSettings
from penstock.config.values.authority import is_loopback
from penstock.errors import ConfigError, ExternalError, PenstockError, StateError, first_line, render
from penstock.graph.identifier import Identifier
from penstock.runtime.project.watched_workspace import watched_workspace
from penstock.runtime.project.workspace import Workspace
from penstock.runtime.serving.access import ServedAccess, with_roles
from penstock.runtime.serving.health import HealthPage
from penstock.runtime.serving.ldap.directory import Directory
from penstock.runtime.serving.tables import ServedTables
from penstock.runtime.serving.users import Users
from penstock.spark.session.session import jvm_exit_code
from penstock.spark.sql.endpoint import PASSWORDS, READ_ONLY_EXTENSION, SqlEndpoint

Record = Callable[[str, str, list[str], int], None]
"""Records a read: the user, the statement, the tables and the rows. Raises READ_NOT_RECORDED."""

Refused = Callable[[str, list[str], str], None]
"""Records that a read or a login was refused: the user, the tables and the condition."""

_OF_ANOTHER_SERVER: Final = (
    "HIVE_SERVER2_THRIFT_BIND_HOST",
    "HIVE_SERVER2_THRIFT_PORT",
    "HIVE_SERVER2_THRIFT_HTTP_PORT",
    "HIVE_SERVER2_TRANSPORT_MODE",
)
_JOB_SECONDS: Final = 60.0
_TABLES_EVERY: Final = 5.0
_USERS_EVERY: Final = 1.0


def with_endpoint(config: PipelineConfig) -> PipelineConfig:
    """Returns the configuration with the settings of Spark that an endpoint needs before Spark starts.

    Raises:
        ConfigError: SERVE_USERS_MISSING, SERVE_LDAP_INVALID, SERVE_KEYSTORE_INVALID, SERVE_PORT_TAKEN.
        ExternalError: LDAP_UNAVAILABLE.
    """
    check_settings(config.serve)
    conf = dict(config.spark_conf)
    extensions = [conf["spark.sql.extensions"]] if "spark.sql.extensions" in conf else []
    conf["spark.sql.extensions"] = ",".join([*extensions, READ_ONLY_EXTENSION])
    conf.setdefault("spark.driver.maxResultSize", config.serve.max_result_size)
    conf["spark.sql.catalogImplementation"] = "in-memory"  # it holds names for clients' lists only
    conf["spark.sql.hive.thriftServer.singleSession"] = "false"  # else clients would have the server's own session
    for name in _OF_ANOTHER_SERVER:  # the Thrift server prefers them to the settings
        os.environ.pop(name, None)
    options = conf.get("spark.driver.extraJavaOptions", "")
    # A query that asks for too much must not end those of others: `Server` looks whether the rest still works.
    conf["spark.driver.extraJavaOptions"] = f"{options} -XX:-ExitOnOutOfMemoryError".lstrip()
    conf["spark.executor.killOnFatalError.depth"] = "0"
    if config.serve.memory is not None:
        conf.setdefault("spark.driver.memory", config.serve.memory)
    return replace(config, spark_conf=conf)


def check_settings(serve: ServeSettings) -> None:
    """Raises what is wrong with the section `serve`, before Spark is started."""
    if not (serve.has_logins or is_loopback(serve.address)):
        raise ConfigError("SERVE_USERS_MISSING", address=serve.address)
    if (directory := Directory.of(serve)) is not None:
        directory.reach()
    if serve.keystore is not None and (serve.keystore_password is None or not serve.keystore.is_file()):
        reason = "there is no such file" if serve.keystore_password else "'serve.keystore_password' is not given"
        raise ConfigError("SERVE_KEYSTORE_INVALID", path=serve.keystore, reason=reason)
    try:
        family = socket.AF_INET6 if ":" in serve.address else socket.AF_INET
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((serve.address, serve.port))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError("SERVE_PORT_TAKEN", address=serve.address, port=serve.port, reason=reason) from None


@dataclass(slots=True)
class Server:
    """An endpoint that answers, and its health page if one is declared."""

    endpoint: SqlEndpoint
    tables: ServedTables
    users: Users
    access: ServedAccess
    report: Callable[[str], None]
    started: float
    works: Callable[[], object]
    health: HealthPage | None = None

    def state(self) -> dict[str, Any]:
        """Returns what the health page shows: no names of users, no statements."""
        return {
            "status": "up",
            "seconds": round(time.time() - self.started),
            "tables": len(self.tables.names()),
            "queries": self.endpoint.count(),
            "running": len(self.endpoint.running()),
        }

    def run(self, stop: threading.Event) -> None:
        """Follows the users, the grants and the tables until `stop`, then ends; ends, too, when the JVM has died.

        Raises:
            ExternalError: SQL_ENDPOINT_STUCK.
        """
        next_tables = time.monotonic() + _TABLES_EVERY
        try:
            while not stop.wait(_USERS_EVERY):
                self._follow(self._revoke)
                if self.endpoint.ran_out_of_memory():
                    self._check_that_jobs_end()
                if time.monotonic() >= next_tables:
                    self._follow(self.restrict)
                    self._follow(self.tables.refresh)
                    next_tables = time.monotonic() + _TABLES_EVERY
        finally:
            if self.health is not None:
                self.health.close()
            self.endpoint.stop()

    def _check_that_jobs_end(self) -> None:
        """A thread of Spark's own that ran out of memory is gone, and then no query ends."""
        failed: list[str] = ["no job ends any more"]

        def work() -> None:
            try:
                self.works()
            except Exception as error:  # noqa: BLE001 - whatever it is, jobs do not work
                failed[:] = [first_line(error)]
            else:
                failed.clear()

        tried = threading.Thread(target=work, name="a job", daemon=True)
        tried.start()
        tried.join(_JOB_SECONDS)
        if failed:
            raise ExternalError("SQL_ENDPOINT_STUCK", reason=failed[0])

    def _revoke(self) -> None:
        for user in self.users.refresh():
            ended = self.endpoint.cancel(user, "SQL_USER_REVOKED")
            self.report(f"{user} may no longer ask, or has another password; running queries ended: {ended}")

    def restrict(self) -> None:
        """Follows the grants and roles: who has lost a table loses the queries that run."""
        for user in self.access.refresh(set(self.endpoint.running()), self.tables.identifiers()):
            ended = self.endpoint.cancel(user, "SQL_GRANT_REVOKED")
            self.report(f"A grant or a role of {user} was taken away; running queries ended: {ended}")
        self.tables.use_roles(self.access.roles)

    def _follow(self, work: Callable[[], None]) -> None:
        try:
            work()
        except PenstockError as error:
            self.report(render(error))
        except Exception as error:
            if jvm_exit_code(within=1.0) is not None:
                raise
            self.report(first_line(error))  # the endpoint goes on with what it knew


@dataclass(slots=True)
class _Answers:
    """What the endpoint asks; `restrict` follows the roles once there is a server."""

    tables: ServedTables
    users: Users
    access: ServedAccess
    on_record: Record
    on_refused: Refused
    limits: ServeSettings
    report: Callable[[str], None]
    restrict: Callable[[], None] | None = None

    def open(self, user: str, schema: str, name: str) -> DataFrame | None:
        table = Identifier(schema, name)
        try:
            self.access.check(user, table)
        except StateError as refused:
            self.on_refused(user, [str(table)], refused.condition)
            raise
        return self.tables.open(schema, name)

    def visible(self, user: str, schema: str, tables: list[str]) -> list[str]:
        return [name for name in tables if self.access.allows(user, Identifier(schema, name))]

    def admit(self, user: str) -> None:
        self.users.admit(user)

    def record(self, user: str, statement: str, tables: list[str], rows: int) -> None:
        self.on_record(user, statement, tables, rows)

    def authenticate(self, user: str, password: str) -> None:
        before = self.users.roles()
        try:
            self.users.check(user, password)
            if self.restrict is not None and self.users.roles() != before:
                self.restrict()
        except PenstockError as error:
            self.report(render(error))
            self.on_refused(user, [], error.condition)
            raise

    def refusal(self, condition: str, subject: str) -> PenstockError:
        limits = self.limits
        return StateError(
            condition,
            subject=subject,
            user=subject,
            seconds=f"{limits.query_timeout:g}",
            row_limit=limits.row_limit,
            size=limits.max_result_size,
        )


@contextmanager
def serving(
    config: PipelineConfig,
    *,
    progress: Callable[[str], None],
    report: Callable[[str], None],
    record: Record,
    refused: Refused,
    elsewhere: Callable[[], Mapping[Identifier, str]],
    users: Callable[[], PipelineConfig],
) -> Iterator[Server]:
    """Starts Spark and the endpoint of `config`, which `with_endpoint` has made; `users` reads the file again.

    Raises:
        ConfigError, ExternalError: what keeps Spark or the server from starting; what ends the work of a cluster, in
            the place of what the block raises (`watched_workspace`).
    """
    with watched_workspace(config, progress, short=False) as workspace:
        serve = config.serve
        known = Users(lambda: users().serve.users, serve.has_logins, Directory.of(serve, report))
        known.refresh()

        def current() -> Access:
            return with_roles(access_of(config.storage, users().access), known.roles())

        access = ServedAccess(current, verified=serve.has_logins)
        access.refresh()
        tables = ServedTables(workspace, elsewhere, report)
        tables.use_roles(access.roles)
        tables.refresh()
        answers = _Answers(tables, known, access, record, refused, serve, report)
        yield _started(workspace, answers)


def _started(workspace: Workspace, answers: _Answers) -> Server:
    serve = workspace.config.serve
    endpoint = SqlEndpoint.start(
        workspace.spark,
        answers,
        _hive_settings(serve),
        row_limit=serve.row_limit,
        query_timeout=math.ceil(serve.query_timeout),
    )
    works = workspace.spark.range(1).count
    server = Server(endpoint, answers.tables, answers.users, answers.access, answers.report, time.time(), works)
    answers.restrict = server.restrict
    if serve.health_port is not None:
        server.health = HealthPage(serve.health_port, server.state)
    return server


def _hive_settings(serve: ServeSettings) -> dict[str, str]:
    settings = {
        "hive.server2.thrift.bind.host": serve.address,
        "hive.server2.thrift.port": str(serve.port),
        "hive.server2.transport.mode": "binary",
        "hive.server2.authentication": "CUSTOM" if serve.has_logins else "NONE",
        "hive.server2.custom.authentication.class": PASSWORDS,
        "hive.server2.enable.doAs": "false",
        "hive.server2.allow.user.substitution": "false",  # hive.server2.proxy.user of a connection would be believed
        "hive.server2.logging.operation.enabled": "false",  # it writes statements to a temporary folder
        "hive.server2.thrift.min.worker.threads": "1",
        "hive.server2.thrift.max.worker.threads": str(serve.connections),
        "hive.server2.use.SSL": "false" if serve.keystore is None else "true",
    }
    if serve.keystore is not None and serve.keystore_password is not None:
        settings["hive.server2.keystore.path"] = str(serve.keystore)
        settings["hive.server2.keystore.password"] = serve.keystore_password.resolve()
    return settings
