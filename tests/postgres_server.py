"""A real PostgreSQL on loopback with its data in a folder of its own, started and stopped by the test that needs it."""

from __future__ import annotations

import functools
import os
import platform
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import psycopg
from tests.processes import Server, ServerFailedError, free_ports, wait_until

from penstock.spark.session.setup.jars import ensure_jars
from penstock.spark.session.setup.java import find_java

_NOBODY = 65534
USER, PASSWORD = "penstock", "s3cret & 'quoted'"
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",  # the machine does not lose power
    "shared_buffers": "32MB",
    "max_connections": "30",
    "log_min_messages": "warning",
}


class PostgresServer:
    """One server; a context manager. The address and the data stay the same over `stop` and `start`."""

    def __init__(self, **settings: str) -> None:
        # Not in pytest's folder, which belongs to root where root runs the tests; the server refuses to be root.
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-postgres-"))
        [self.port] = free_ports(1)
        options = [f"-c{name}={value}" for name, value in {**_SETTINGS, **settings, "port": str(self.port)}.items()]
        data = str(self._folder / "data")
        self._server = Server("PostgreSQL", [*_command("postgres"), "-D", data, *options], self._folder / "log")

    def __enter__(self) -> PostgresServer:
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        if os.geteuid() == 0:
            for path in (self._folder, secret):
                shutil.chown(path, _NOBODY, _NOBODY)
        made = [*_command("initdb"), "-D", str(self._folder / "data"), "-U", USER, "--pwfile", str(secret)]
        made += ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        subprocess.run(made, check=True, capture_output=True, timeout=60, cwd=self._folder)
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        """Starts a stopped server and returns once it answers."""
        self._server.start(self._answers, timeout=30)

    def stop(self) -> None:
        """Ends the server; clients see refused connections from now on."""
        self._server.stop()

    def crash(self) -> None:
        """Kills one of its processes, after which the server restarts: unlogged tables are empty then."""
        with self.connected() as connection:
            [[pid]] = connection.execute("SELECT pg_backend_pid()").fetchall()
            os.kill(pid, signal.SIGKILL)
            with suppress(psycopg.OperationalError):
                connection.execute("SELECT 1")
        wait_until(self._answers, timeout=30, what="the server to come back")

    def url(self, database: str = "postgres") -> str:
        """Returns the address as JDBC spells it."""
        return f"jdbc:postgresql://127.0.0.1:{self.port}/{database}"

    def offer_tls(self, host: str) -> Path:
        """Has the server take TLS too, with a certificate of `host`, which it returns."""
        key, certificate = (self._folder / f"{host}.{ending}" for ending in ("key", "pem"))
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={host}"]
        command += ["-addext", f"subjectAltName=DNS:{host}", "-keyout", str(key), "-out", str(certificate)]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        if os.geteuid() == 0:
            shutil.chown(key, _NOBODY, _NOBODY)
        for name, value in (("ssl_key_file", key), ("ssl_cert_file", certificate), ("ssl", "on")):
            self.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        self.execute("SELECT pg_reload_conf()")
        return certificate

    def refuse_tls(self) -> None:
        """Ends what `offer_tls` began."""
        self.execute("ALTER SYSTEM RESET ALL", "SELECT pg_reload_conf()")

    @property
    def options(self) -> dict[str, str]:
        """The options of a sink that all have."""
        return {"url": self.url(), "user": USER, "password": PASSWORD}

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection[Any]]:
        """Opens a connection whose statements commit by themselves."""
        with psycopg.connect(
            host="127.0.0.1", port=self.port, user=USER, password=PASSWORD, dbname="postgres", autocommit=True
        ) as connection:
            yield connection

    def execute(self, *statements: str) -> None:
        """Runs statements, each committed by itself."""
        with self.connected() as connection:
            for statement in statements:
                connection.execute(statement)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Returns the rows of a query."""
        with self.connected() as connection:
            return connection.execute(query).fetchall()

    def _answers(self) -> bool:
        with suppress(psycopg.OperationalError), self.connected():
            return True
        return False


@functools.cache
def _programs() -> Path:
    """Returns the folder of PostgreSQL's programs: from a locked jar, unpacked once per user of a machine."""
    built_for = {"x86_64": "amd64", "aarch64": "arm64v8"}.get(platform.machine())
    if sys.platform != "linux" or built_for is None:
        installed = shutil.which("postgres")
        if installed is None:
            raise ServerFailedError("no postgres on PATH: install PostgreSQL")
        return Path(installed).parent
    [jar] = ensure_jars(f"postgres-{built_for}", java=find_java(), progress=print)
    # Not in the user's cache, into which nobody else may look: root runs the server as another user.
    place = Path(tempfile.gettempdir()) / f"{jar.stem}-{os.geteuid()}"
    if not place.is_dir():
        staged = Path(tempfile.mkdtemp(prefix="penstock-postgres-"))
        staged.chmod(0o755)
        with zipfile.ZipFile(jar) as packed:
            [archive] = [name for name in packed.namelist() if name.endswith(".txz")]
            with packed.open(archive) as content, tarfile.open(fileobj=content, mode="r:xz") as programs:
                programs.extractall(staged, filter="data")
        with suppress(OSError):  # another process was quicker
            staged.rename(place)
    return place / "bin"


def _command(program: str) -> list[str]:
    """Returns how to run a program of PostgreSQL, which refuses to be root."""
    found = str(_programs() / program)
    if os.geteuid() != 0:
        return [found]
    return ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", found]
