"""Asks a Kafka cluster, before a flow starts, whether it lets this user in and has the topics.

Spark finds that out too, but only when the query runs, after minutes of tries, and by an exception of a task.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from penstock.connectors.kafka.endpoint import KafkaEndpoint, check_brokers, speaks_tls
from penstock.errors import DefinitionError, ExternalError, did_you_mean
from penstock.spark import _jvm
from penstock.spark.failures.kafka import is_away, kafka_failure
from penstock.spark.failures.translate import causes_of

_ANSWER_SECONDS: Final = 10
_PATIENCE: Final = {
    "default.api.timeout.ms": str(_ANSWER_SECONDS * 1000),
    "request.timeout.ms": "5000",
    "socket.connection.setup.timeout.ms": "5000",
}
_ADMIN_PREFIXES: Final = ("bootstrap.", "client.", "sasl.", "security.", "ssl.")


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
