"""The bootstrap servers of a Kafka cluster: their addresses, and whether one of them takes a connection."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress

from penstock.errors import ExternalError

_CONNECT_SECONDS = 5.0


def addresses(servers: str | None) -> list[str]:
    """Returns the `host:port` of each bootstrap server of the option."""
    return [server.strip().rpartition("://")[2] for server in (servers or "").split(",") if server.strip()]


def check_brokers(addresses: Sequence[str]) -> None:
    """Makes sure that at least one bootstrap server accepts a connection.

    Spark's own client would try for minutes and then fail without naming the address.

    Raises:
        ExternalError: KAFKA_UNREACHABLE; retried with backoff.
    """
    reasons = []
    for address in addresses:
        try:
            _connection(address).close()
        except (OSError, ValueError) as error:
            reasons.append(f"{address} ({getattr(error, 'strerror', None) or error})")
        else:
            return
    if reasons:
        raise ExternalError("KAFKA_UNREACHABLE", servers=", ".join(reasons))


def speaks_tls(addresses: Sequence[str]) -> bool:
    """Whether the first server that takes a connection answers to TLS; no certificate is checked."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for address in addresses:
        with suppress(OSError, ValueError), _connection(address) as connection:
            try:
                context.wrap_socket(connection).close()
            except ssl.SSLError as refused:
                # A server that wants a certificate of the client's speaks TLS too.
                return "CERTIFICATE_REQUIRED" in str(refused)
            return True
    return False


def _connection(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS)
