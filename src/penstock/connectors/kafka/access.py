"""What a read of Kafka, or a sink, connects to; whether the cluster lets this user in and has the topics.

Spark finds that out too, but only when the query runs, after minutes of tries, and by an exception of a task.
"""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from penstock.errors import DefinitionError, ExternalError, did_you_mean
from penstock.spark import _jvm
from penstock.spark.failures.causes import causes_of
from penstock.spark.failures.clients import is_away, kafka_failure

_CONNECT_SECONDS = 5.0

_PREFIX: Final = "kafka."

_ANSWER_SECONDS: Final = 10
_PATIENCE: Final = {
    "default.api.timeout.ms": str(_ANSWER_SECONDS * 1000),
    "request.timeout.ms": "5000",
    "socket.connection.setup.timeout.ms": "5000",
}
_ADMIN_PREFIXES: Final = ("bootstrap.", "client.", "sasl.", "security.", "ssl.")


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


def check_access(spark: SparkSession, endpoint: KafkaEndpoint) -> None:
    """Makes sure that the cluster answers, accepts the login and has the topics; takes 10 seconds at most.

    Called before each start of a flow that reads or writes Kafka.

    Raises:
        ExternalError: KAFKA_UNREACHABLE, which is retried; KAFKA_LOGIN_REFUSED, KAFKA_TLS_FAILED, KAFKA_NOT_AUTHORIZED.
        DefinitionError: KAFKA_CLIENT_REFUSED, KAFKA_TOPIC_UNKNOWN.
    """
    check_brokers(endpoint.servers)
    if not endpoint.servers:
        return
    try:
        with _admin(spark, endpoint) as admin:
            _ask(spark, admin, endpoint)
    except Py4JJavaError as error:
        causes = list(causes_of(error))
        for cause in causes:
            if known := kafka_failure(cause.class_name, cause.message, causes[-1].message):
                raise known from error
        if any(is_away(cause.class_name) for cause in causes):
            raise _no_answer(endpoint) from error
        raise


@contextmanager
def _admin(spark: SparkSession, endpoint: KafkaEndpoint) -> Iterator[Any]:
    """Kafka's admin client under the login of the flow."""
    java = _jvm.jvm(spark)
    properties = java.java.util.Properties()
    settings = {key: value for key, value in endpoint.settings.items() if key.startswith(_ADMIN_PREFIXES)}
    for key, value in {**settings, **_PATIENCE}.items():
        properties.put(key, value)
    try:
        admin = java.org.apache.kafka.clients.admin.AdminClient.create(properties)
    except Py4JJavaError as error:
        *_, reason = (cause.message for cause in causes_of(error) if cause.message != "None")
        raise DefinitionError("KAFKA_CLIENT_REFUSED", detail=reason) from error
    try:
        yield admin
    finally:
        admin.close(java.java.time.Duration.ZERO)


def _ask(spark: SparkSession, admin: Any, endpoint: KafkaEndpoint) -> None:
    if not endpoint.topics:
        admin.describeCluster().nodes().get()
        return
    answers = admin.describeTopics(list(endpoint.topics)).topicNameValues()
    missing = []
    for topic, partition in endpoint.topics.items():
        try:
            partitions = answers[topic].get().partitions().size()
        except Py4JJavaError as error:
            if not any(_simple(cause.class_name) == "UnknownTopicOrPartitionException" for cause in causes_of(error)):
                raise
            missing.append(topic)
        else:
            if partition >= partitions:
                raise _unknown_topics([f"{topic} with a partition {partition}"], [])
    if missing and not (endpoint.writes and _makes_topics(spark, admin)):
        raise _unknown_topics(missing, [str(name) for name in admin.listTopics().names().get()])


def _makes_topics(spark: SparkSession, admin: Any) -> bool:
    """Whether a broker makes a topic when somebody writes to it; who may not ask is left to try."""
    kafka = _jvm.jvm(spark).org.apache.kafka
    kind = getattr(kafka.common.config, "ConfigResource$Type").BROKER
    try:
        node = admin.describeCluster().nodes().get().iterator().next()
        broker = kafka.common.config.ConfigResource(kind, str(node.id()))
        found = admin.describeConfigs([broker]).all().get().get(broker).get("auto.create.topics.enable")
    except Py4JJavaError:
        return True
    return found is None or str(found.value()) == "true"


def _unknown_topics(topics: list[str], known: list[str]) -> DefinitionError:
    suggestion = did_you_mean(topics[0], known)
    return DefinitionError("KAFKA_TOPIC_UNKNOWN", topics=", ".join(topics), suggestion=suggestion)


def _no_answer(endpoint: KafkaEndpoint) -> ExternalError:
    """A broker drops whoever speaks another protocol, which looks as if it was away."""
    if not endpoint.protocol.endswith("SSL") and speaks_tls(endpoint.servers):
        detail = f"the broker speaks TLS, and kafka.security.protocol is {endpoint.protocol}"
        return ExternalError("KAFKA_TLS_FAILED", detail=detail)
    what = f"{', '.join(endpoint.servers)} (no answer over {endpoint.protocol} within {_ANSWER_SECONDS} s)"
    return ExternalError("KAFKA_UNREACHABLE", servers=what)


def _simple(class_name: str) -> str:
    return class_name.rpartition(".")[2]
