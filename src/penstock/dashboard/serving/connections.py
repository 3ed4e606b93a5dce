"""The dashboard's connections: how many, how many of one address, and how long one may keep the server waiting.

uvicorn limits requests but not connections, and waits for ever for a request's header; asyncio accepts until the
process has no file descriptors left, and then reports that thousands of times a second.
"""

from __future__ import annotations

import asyncio
import ipaddress
import resource
import socket
import ssl
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_NO_DESCRIPTORS_PAUSE: Final = 1.0
_REQUEST_INCOMPLETE: Final = (h11.IDLE, h11.SEND_BODY)


@dataclass(frozen=True, slots=True)
class Limits:
    """What the clients of one dashboard may take.

    Attributes:
        connections: how many of them there may be.
        seconds: how long a client may take for the TLS handshake and its request, to send another request, and to
            read an answer's next 48 kB.
    """

    connections: int = 512
    seconds: float = 10.0

    @classmethod
    def of_this_process(cls) -> Limits:
        """Returns limits that leave half of the process's file descriptors to its other work."""
        descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        few = 0 <= descriptors // 2 < cls().connections
        return cls(max(descriptors // 2, 8)) if few else cls()

    @property
    def per_address(self) -> int:
        """Connections of one address, or of one /64 network of IPv6.

        Loopback has no such limit: it is used by every user of this machine, and of a tunnel or a proxy on it.
        """
        return max(1, self.connections // 4)

    @property
    def streams(self) -> int:
        """Connections that follow the log, so that some are left for pages."""
        return max(1, 3 * self.connections // 4)


class Connections:
    """Accepts connections within `limits`.

    Where one more would be too many, the connection that has waited longest for its client makes room; where none
    waits, the new one is closed. So silent clients do not keep others out, and open pages stay connected.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open: Counter[str] = Counter()  # by network
        self._waiting: dict[BoundedProtocol, float] = {}  # since when, the longest first

    async def accept(
        self, listener: socket.socket, protocol: Callable[[], BoundedProtocol], tls: ssl.SSLContext | None
    ) -> None:
        """Accepts until it is cancelled."""
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        while True:
            await asyncio.sleep(0)  # a flood of connections must not hold up those that are open
            try:
                accepted, address = await loop.sock_accept(listener)
            except ConnectionAbortedError:
                continue
            except OSError:  # no descriptor is left
                await asyncio.sleep(_NO_DESCRIPTORS_PAUSE)
                continue
            network = _network(address[0])
            if self._has_room(network):
                connection = protocol()
                self._open[network] += 1
                connection.begin(network, accepted, tls, self._limits.seconds)
            else:
                accepted.close()

    def close_overdue(self) -> None:
        """Closes the connections that have waited for too long; the server calls it every tenth of a second."""
        before = time.monotonic() - self._limits.seconds
        for connection in [each for each, since in self._waiting.items() if since <= before]:
            self._close(connection)

    def waits(self, connection: BoundedProtocol, *, for_client: bool) -> None:
        """Notes whether a connection waits for its client or for the server."""
        if not for_client:
            self._waiting.pop(connection, None)
        elif connection.network is not None:
            self._waiting.setdefault(connection, time.monotonic())

    def ended(self, connection: BoundedProtocol) -> None:
        """Forgets a connection; again is harmless."""
        self._waiting.pop(connection, None)
        if connection.network is not None:
            self._open[connection.network] -= 1
            self._open += Counter()  # drops those without any
            connection.network = None

    def _has_room(self, network: str) -> bool:
        if not _is_loopback(network) and self._open[network] >= self._limits.per_address:
            return self._make_room(each for each in self._waiting if each.network == network)
        if self._open.total() >= self._limits.connections:
            return self._make_room(iter(self._waiting))
        return True

    def _make_room(self, candidates: Iterator[BoundedProtocol]) -> bool:
        longest = next(candidates, None)
        if longest is not None:
            self._close(longest)
        return longest is not None

    def _close(self, connection: BoundedProtocol) -> None:
        connection.abort()
        self.ended(connection)


class BoundedProtocol(H11Protocol):
    """One connection, which reports when it waits for its client."""

    def __init__(self, connections: Connections, **of_uvicorn: Any) -> None:
        super().__init__(**of_uvicorn)
        self.network: str | None = None
        self._connections = connections
        self._abort: Callable[[], object] = lambda: None
        self._answer_is_stuck = False

    def begin(self, network: str, accepted: socket.socket, tls: ssl.SSLContext | None, seconds: float) -> None:
        """Takes over an accepted connection; `seconds` is for the TLS handshake."""
        self.network = network
        self._connections.waits(self, for_client=True)
        self._beginning = self.loop.create_task(self._begin(accepted, tls, seconds))
        self._abort = self._beginning.cancel

    async def _begin(self, accepted: socket.socket, tls: ssl.SSLContext | None, seconds: float) -> None:
        timeout = None if tls is None else seconds
        try:
            await self.loop.connect_accepted_socket(
                lambda: self, accepted, ssl=tls, ssl_handshake_timeout=timeout, ssl_shutdown_timeout=timeout
            )
        except OSError:  # it was no handshake, or the client has gone
            self._connections.ended(self)

    def abort(self) -> None:
        """Closes the connection at once."""
        self._abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by asyncio when requests may come."""
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        self._abort = transport.abort

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by asyncio at the connection's end."""
        super().connection_lost(exc)
        self._connections.ended(self)

    def handle_events(self) -> None:
        """Called with what has arrived, and when an answer is complete."""
        super().handle_events()
        self._report()

    def on_response_complete(self) -> None:
        """Called when an answer is complete: the next request may come."""
        super().on_response_complete()
        self._report()

    def pause_writing(self) -> None:
        """Called when the client has left 64 kB of an answer unread."""
        super().pause_writing()
        self._answer_is_stuck = True
        self._report()

    def resume_writing(self) -> None:
        """Called when the client has read most of that."""
        super().resume_writing()
        self._answer_is_stuck = False
        self._report()

    def _report(self) -> None:
        incomplete = self.conn.their_state in _REQUEST_INCOMPLETE
        self._connections.waits(self, for_client=incomplete or self._answer_is_stuck)


def _network(address: str) -> str:
    """Returns what counts as one address: of IPv6, its network, as one machine has as many addresses as it likes."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        return str(ip.ipv4_mapped or (ip if ip.is_loopback else ipaddress.ip_network((ip, 64), strict=False)))
    return str(ip)


def _is_loopback(network: str) -> bool:
    return network == "::1" or network.startswith("127.")
