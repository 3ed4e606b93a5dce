"""What a read of Kafka, or a sink, connects to, and whether a bootstrap server takes a connection."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from penstock.errors import ExternalError

_CONNECT_SECONDS = 5.0

_PREFIX: Final = "kafka."


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


@dataclass(frozen=True, slots=True, repr=False)
class KafkaEndpoint:
    """A cluster and the topics that must be there. `settings` are those of Kafka's client, and can hold secrets.

    `topics` gives for each topic the highest partition that is asked for, -1 for none in particular. Whoever
    `writes` may let the broker make the topic.
    """

    settings: Mapping[str, str]
    topics: Mapping[str, int]
    writes: bool = False

    @classmethod
    def of(cls, options: Mapping[str, str], *, writes: bool = False) -> KafkaEndpoint:
        """Returns what the options of a source or a sink connect to; a pattern asks for no topic in particular."""
        settings = {key[len(_PREFIX) :]: value for key, value in options.items() if key.casefold().startswith(_PREFIX)}
        given = {key.casefold(): value for key, value in options.items()}
        topics = dict.fromkeys((topic.strip() for topic in given.get("subscribe", "").split(",")), -1)
        if writes:
            topics = {given.get("topic", "").strip(): -1}
        topics.update(_assigned(given.get("assign", "")))
        topics.pop("", None)
        return cls(settings, topics, writes)

    @property
    def servers(self) -> list[str]:
        """The `host:port` of each bootstrap server."""
        return addresses(self.settings.get("bootstrap.servers"))

    @property
    def protocol(self) -> str:
        """The security protocol; Kafka's own default is PLAINTEXT."""
        return self.settings.get("security.protocol", "PLAINTEXT").upper()


def _assigned(text: str) -> dict[str, int]:
    """What Spark cannot read either, it says itself."""
    try:
        return {str(topic): max(map(int, partitions), default=-1) for topic, partitions in json.loads(text).items()}
    except (AttributeError, TypeError, ValueError):
        return {}
