"""Kafka: what Spark's connector leaves to the operator to find out."""

from __future__ import annotations

import socket
from collections.abc import Iterable

from penstock.errors import ExternalError
from penstock.spark.sources.stream_read import StreamRead

_CONNECT_SECONDS = 5.0


def broker_addresses(read: StreamRead) -> list[str]:
    """Returns the `host:port` of each bootstrap server of a Kafka read."""
    return addresses(read.option("kafka.bootstrap.servers"))


def addresses(servers: str | None) -> list[str]:
    """Returns the `host:port` of each bootstrap server of the option."""
    return [server.strip().rpartition("://")[2] for server in (servers or "").split(",") if server.strip()]


def check_brokers(addresses: Iterable[str]) -> None:
    """Makes sure that at least one bootstrap server accepts a connection.

    Called before each start of a flow that reads or writes Kafka: Spark's own client would try for minutes
    and then fail without naming the address.

    Raises:
        ExternalError: KAFKA_UNREACHABLE; retried with backoff.
    """
    reasons = []
    for address in addresses:
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS):
                return
        except (OSError, ValueError) as error:
            reasons.append(f"{address} ({getattr(error, 'strerror', None) or error})")
    if reasons:
        raise ExternalError("KAFKA_UNREACHABLE", servers=", ".join(reasons))
