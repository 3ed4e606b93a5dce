"""Clients that hold connections and do nothing useful with them, on every port that they are given."""

from __future__ import annotations

import resource
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

_LIVE = b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n"


@dataclass
class Flood:
    """What it did so far: connections made, and those that the servers closed."""

    made: int = 0
    closed: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)


@contextmanager
def flooded(ports: Sequence[int], *, silent: int, trickling: int, reading: int) -> Iterator[Flood]:
    """Keeps so many connections to each port inside the block, making one for each that is closed.

    `silent` ones send nothing, `trickling` ones a byte of a request a second, `reading` ones ask for the stream of the
    dashboard's pages and take a byte a second.
    """
    flood = Flood()
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = len(ports) * (silent + trickling + reading) + 512
    if before < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    kinds = [(silent, b"", False), (trickling, b"", True), (reading, _LIVE, False)]
    threads = [
        threading.Thread(target=_hold, args=(flood, port, count, opening, trickles), daemon=True)
        for port in ports
        for count, opening, trickles in kinds
        if count
    ]
    for thread in threads:
        thread.start()
    try:
        yield flood
    finally:
        flood._stop.set()
        for thread in threads:
            thread.join(30)
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


def _hold(flood: Flood, port: int, count: int, opening: bytes, trickles: bool) -> None:
    held: list[socket.socket] = []
    try:
        while not flood._stop.is_set():
            while len(held) < count and not flood._stop.is_set():
                with suppress(OSError):
                    held.append(_connected(port, opening))
                    flood.made += 1
                    continue
                break  # it accepts no more at the moment
            flood._stop.wait(1)
            alive = [each for each in held if _is_open(each, trickles=trickles, reads=bool(opening))]
            flood.closed += len(held) - len(alive)
            held = alive
    finally:
        for each in held:
            each.close()


def _connected(port: int, opening: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=2)
    connection.sendall(opening)
    return connection


def _is_open(connection: socket.socket, *, trickles: bool, reads: bool) -> bool:
    try:
        if trickles:
            connection.sendall(b"G")
        connection.setblocking(False)
        if connection.recv(1, 0 if reads else socket.MSG_PEEK) == b"":
            connection.close()
            return False
    except BlockingIOError:
        return True
    except OSError:
        connection.close()
        return False
    return True


def answers(url: str, *, within: float) -> bool:
    """Whether a page is answered with 200 within so many seconds, asked again and again."""
    import httpx

    until = time.monotonic() + within
    while time.monotonic() < until:
        with suppress(httpx.TransportError):
            if httpx.get(url, timeout=5).status_code == 200:
                return True
    return False
