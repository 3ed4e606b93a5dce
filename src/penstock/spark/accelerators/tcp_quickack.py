"""Answers of the JVM come at once: py4j sends those of over 8 KB in pieces, the last one 44 ms after the others.

Java holds a small piece back until the one before it is acknowledged (Nagle's algorithm), and Linux waits 40 ms with
that in case there is something to send. py4j has no setting for either side, and makes Java's sockets itself. So Python
acknowledges what it has before it waits for more.
"""

from __future__ import annotations

import functools
import io
import socket
from typing import Any, Final

from py4j.clientserver import ClientServerConnection

from penstock.spark.accelerators.accelerator import TCP_QUICKACK

_CONNECT: Final = ("connect_to_java_server", "init_socket_from_python_server")


def enable_tcp_quickack() -> None:
    """Makes py4j's connections acknowledge what they read; once per process, for connections made from then on."""
    if TCP_QUICKACK.applies():
        _patch()


@functools.cache
def _patch() -> None:
    if hasattr(socket, "TCP_QUICKACK"):  # Linux has it
        for name in _CONNECT:
            _acknowledge_at_once(name)


def _acknowledge_at_once(name: str) -> None:
    connect = getattr(ClientServerConnection, name)

    @functools.wraps(connect)
    def connect_with_quickack(self: Any, *arguments: Any) -> None:
        connect(self, *arguments)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # the same for long commands of Python's
        self.stream = io.BufferedReader(_Acknowledging(self.socket, self.stream.detach()))

    setattr(ClientServerConnection, name, connect_with_quickack)


class _Acknowledging(io.RawIOBase):
    """The bytes of a connection, of which nothing was read ahead."""

    def __init__(self, connection: socket.socket, received: Any) -> None:
        self._connection = connection
        self._received = received

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)  # Linux forgets it after a while
        read: int | None = self._received.readinto(buffer)
        return read

    def close(self) -> None:
        self._received.close()
        super().close()
