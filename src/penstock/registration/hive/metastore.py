"""A client of the Hive Metastore: the calls of its public Thrift interface that registration needs."""

from __future__ import annotations

import getpass
import os
import socket
from contextlib import suppress
from typing import Any, Final, Self

from penstock.registration.hive.thrift import ProtocolError, Struct, call, read_answer

_SECONDS: Final = 10.0
_DROP_TABLE_EXCEPTIONS: Final = {1: "NoSuchObjectException", 3: "MetaException"}

# The fields of the answers that registration reads, with their types.
_DATABASE: Final = Struct({3: str})
_COLUMN: Final = Struct({1: str, 2: str, 3: str})
_STORAGE: Final = Struct({1: [_COLUMN], 2: str, 7: Struct({3: {str: str}})})
_TABLE: Final = Struct({7: _STORAGE, 9: {str: str}, 12: str})


class MetastoreError(Exception):
    """An exception that the interface declares; `kind` is its name."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message or kind)
        self.kind = kind


class Metastore:
    """One connection; a context manager. Not thread-safe.

    Every call raises OSError when the server does not answer within ten seconds, MetastoreError when it refuses, and
    ProtocolError when it is no metastore. After OSError and ProtocolError the connection cannot be used any more.
    """

    def __init__(self, servers: tuple[tuple[str, int], ...]) -> None:
        self._servers = servers
        self._calls = 0

    def __enter__(self) -> Self:
        self._socket = self._connected()
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._input = self._socket.makefile("rb")
        try:
            user = os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
            with suppress(ProtocolError):  # a server without it takes everybody for its own user
                self._call("set_ugi", Struct({1: user, 2: [user]}), {1: "MetaException"})
        except BaseException:
            self._socket.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._socket.close()

    def database(self, name: str) -> Struct | None:
        """Returns a database, None where there is none of that name."""
        exceptions = {1: "NoSuchObjectException", 2: "MetaException"}
        return self._found("get_database", Struct({1: name}), exceptions, _DATABASE)

    def create_database(self, name: str, comment: str) -> None:
        """Creates a database in the warehouse; nothing happens to one that is there."""
        exceptions = {1: "AlreadyExistsException", 2: "InvalidObjectException", 3: "MetaException"}
        try:
            self._call("create_database", Struct({1: Struct({1: name, 2: comment, 4: {}})}), exceptions)
        except MetastoreError as error:
            if error.kind != "AlreadyExistsException":
                raise

    def table(self, database: str, name: str) -> Struct | None:
        """Returns a table, None where there is none of that name."""
        exceptions = {1: "MetaException", 2: "NoSuchObjectException"}
        return self._found("get_table", Struct({1: database, 2: name}), exceptions, _TABLE)

    def create_table(self, table: Struct) -> None:
        """Creates a table."""
        exceptions = {
            1: "AlreadyExistsException",
            2: "InvalidObjectException",
            3: "MetaException",
            4: "NoSuchObjectException",
        }
        self._call("create_table", Struct({1: table}), exceptions)

    def alter_table(self, database: str, name: str, table: Struct) -> None:
        """Puts a table in the place of the one of that name."""
        exceptions = {1: "InvalidOperationException", 2: "MetaException"}
        self._call("alter_table", Struct({1: database, 2: name, 3: table}), exceptions)

    def drop_table(self, database: str, name: str) -> None:
        """Removes a table, and none of its files."""
        self._call("drop_table", Struct({1: database, 2: name, 3: False}), _DROP_TABLE_EXCEPTIONS)

    def _found(self, name: str, arguments: Struct, exceptions: dict[int, str], fields: Struct) -> Struct | None:
        try:
            found = self._call(name, arguments, exceptions)
        except MetastoreError as error:
            if error.kind != "NoSuchObjectException":
                raise
            return None
        if not isinstance(found, Struct) or not _has_types(found, fields):
            raise ProtocolError(f"the answer to {name} is not what a metastore says")
        return found

    def _call(self, name: str, arguments: Struct, exceptions: dict[int, str]) -> Any:
        self._calls += 1
        self._socket.sendall(call(name, arguments, self._calls))
        answer = read_answer(self._read)
        for number, kind in exceptions.items():
            if isinstance(refused := answer.get(number), Struct):
                raise MetastoreError(kind, printable(str(refused.get(1) or "")))
        return answer.get(0)

    def _read(self, length: int) -> bytes:
        content = self._input.read(length)
        if len(content) < length:
            raise ConnectionError("the server closed the connection")
        return content

    def _connected(self) -> socket.socket:
        failure: OSError = ConnectionError("no server is given")
        for server in self._servers:
            try:
                return socket.create_connection(server, timeout=_SECONDS)
            except OSError as error:
                failure = error
        raise failure


def printable(text: str) -> str:
    """Returns a text of the metastore with U+FFFD in the place of bytes that are not UTF-8."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


def _has_types(value: Any, expected: Any) -> bool:
    """Whether a value has the types that are expected, where it has the fields."""
    match expected:
        case Struct():
            fields = expected.items()
            return isinstance(value, Struct) and all(value.get(n) is None or _has_types(value[n], t) for n, t in fields)
        case dict():
            [(key, item)] = expected.items()
            return type(value) is dict and all(isinstance(k, key) and isinstance(v, item) for k, v in value.items())
        case [item]:
            return isinstance(value, list) and all(_has_types(each, item) for each in value)
        case _:
            return isinstance(value, expected)
