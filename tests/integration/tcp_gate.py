"""A door before a server on loopback: open, closed, or one behind which nobody answers."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self

from tests.processes import free_ports


class TcpGate:
    """A context manager, open at first. Its address stays the same."""

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        [self.port] = free_ports(1)
        self._passing = threading.Event()
        self._listening: socket.socket | None = None
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.refuse()

    def open(self) -> None:
        """Everything passes, also what came while it hung."""
        self._listen()
        self._passing.set()

    def hang(self) -> None:
        """Connections are taken and kept, and nothing comes back."""
        self._passing.clear()
        self._listen()

    def refuse(self) -> None:
        """Connections are refused, and those that are there end."""
        self._passing.clear()
        if self._listening is not None:
            _close(self._listening)
            self._listening = None
        while self._sockets:
            _close(self._sockets.pop())

    def _listen(self) -> None:
        if self._listening is None:
            self._listening = socket.create_server(("127.0.0.1", self.port))
            threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()

    def _accept(self, listening: socket.socket) -> None:
        with suppress(OSError):  # it is closed
            while True:
                client, _ = listening.accept()
                server = socket.create_connection(("127.0.0.1", self._upstream))
                self._sockets += [client, server]
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while content := one.recv(1 << 16):
                self._passing.wait()
                other.sendall(content)
        _close(other)


def _close(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
