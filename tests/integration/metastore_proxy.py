"""A proxy in front of a Hive Metastore that knows the calls by their names, and can hold or lose one."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Self

_WAIT: Final = 30.0


class CallLost(Exception):
    """The call does not reach the server, and its connection ends."""


class MetastoreProxy:
    """A context manager. `calls` are the names of the calls that reached the server, in their order."""

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self.calls: list[str] = []
        self.before: Callable[[str], None] = lambda name: None
        """Called with each call's name before it is passed on; may raise CallLost."""

    def __enter__(self) -> Self:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._server.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        answered = threading.Event()
        with suppress(OSError, CallLost), client, socket.create_connection(("127.0.0.1", self._upstream)) as server:
            threading.Thread(target=_answer, args=(server, client, answered), daemon=True).start()
            while content := client.recv(1 << 20):  # a call of these tests is one packet
                [length] = struct.unpack(">i", content[4:8])
                name = content[8 : 8 + length].decode()
                self.before(name)
                self.calls.append(name)
                answered.clear()
                server.sendall(content)
                answered.wait(_WAIT)  # the call is done, also when the client is dead by now


def _answer(server: socket.socket, client: socket.socket, answered: threading.Event) -> None:
    with suppress(OSError):
        while content := server.recv(1 << 16):
            with suppress(OSError):
                client.sendall(content)
            answered.set()
        client.shutdown(socket.SHUT_RDWR)
