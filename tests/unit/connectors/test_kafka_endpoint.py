"""What a read of Kafka connects to, which of its options there are, and what the client's exceptions mean."""

from __future__ import annotations

import pytest

from penstock.connectors.kafka.access import KafkaEndpoint
from penstock.connectors.kafka.connector import DECLARED, OPTIONS, REFUSED
from penstock.errors import DefinitionError, conditions
from penstock.spark.failures.clients import is_away, kafka_failure
from penstock.spark.sources.option import check_options, no_secret, plain_options, secret_options

_ERRORS = "org.apache.kafka.common.errors."


@pytest.mark.parametrize(
    ("options", "topics"),
    [
        ({"subscribe": "orders"}, {"orders": -1}),
        ({"Subscribe": "orders, items ,"}, {"orders": -1, "items": -1}),
        ({"subscribePattern": "o.*"}, {}),
        ({"assign": '{"orders": [0, 3], "items": []}'}, {"orders": 3, "items": -1}),
        ({"assign": '["orders"]'}, {}),
        ({"assign": "orders"}, {}),
        ({"topic": "copies"}, {}),
    ],
)
def test_the_topics_of_a_read(options: dict[str, str], topics: dict[str, int]) -> None:
    assert KafkaEndpoint.of(options).topics == topics


def test_what_a_sink_connects_to() -> None:
    options = {"kafka.bootstrap.servers": "a:1, SSL://b:2", "Kafka.security.protocol": "ssl", "topic": " copies "}
    endpoint = KafkaEndpoint.of(options, writes=True)
    assert (endpoint.topics, endpoint.servers, endpoint.protocol) == ({"copies": -1}, ["a:1", "b:2"], "SSL")
    assert KafkaEndpoint.of({}, writes=True).topics == {}
    assert KafkaEndpoint.of({}).protocol == "PLAINTEXT"
    assert "ssl" not in repr(endpoint)


def test_every_option_is_taken_refused_or_unknown() -> None:
    names = [*OPTIONS, *(option.upper() for option in OPTIONS), "kafka.ssl.truststore.location", "KAFKA.x"]
    check_options("kafka", DECLARED, dict.fromkeys(names, "1"))
    for option in REFUSED:
        with pytest.raises(DefinitionError) as refused:
            check_options("kafka", DECLARED, {"subscribe": "t", option.upper(): "1"})
        assert refused.value.condition == "SOURCE_OPTION_REFUSED"
        assert refused.value.facts["option"] == option
    with pytest.raises(DefinitionError) as unknown:
        check_options("kafka", DECLARED, {"startingOffset": "1"})
    assert unknown.value.condition == "SOURCE_OPTION_UNKNOWN"
    assert "'startingOffsets'" in unknown.value.message


def test_classes_have_their_own_names() -> None:
    options = {
        "kafka.sasl.jaas.config": 'kafkashaded.org.apache.x required password="p";',
        "subscribe": "kafkashaded.t",
    }
    assert plain_options(options) == {**options, "kafka.sasl.jaas.config": 'org.apache.x required password="p";'}


def test_references_are_filled_in_and_quoted_where_they_stand_in_quotes() -> None:
    values = {"login": 'a"b\\c', "store": 'd"e'}
    options = {
        "kafka.sasl.jaas.config": 'x required password="${secret:login}";',
        "kafka.ssl.truststore.password": "${secret:store}",
        "subscribe": "orders",
        "path": "${env:HOME}",
    }
    assert secret_options(options, values.__getitem__) == {
        "kafka.sasl.jaas.config": 'x required password="a\\"b\\\\c";',
        "kafka.ssl.truststore.password": 'd"e',
    }
    with pytest.raises(DefinitionError, match="SECRET_NOT_DECLARED"):
        secret_options({"a": "${secret:nobody}"}, no_secret)


@pytest.mark.parametrize(
    ("class_name", "condition"),
    [
        (f"{_ERRORS}SaslAuthenticationException", "KAFKA_LOGIN_REFUSED"),
        (f"{_ERRORS}UnsupportedSaslMechanismException", "KAFKA_LOGIN_REFUSED"),
        (f"{_ERRORS}SslAuthenticationException", "KAFKA_TLS_FAILED"),
        (f"{_ERRORS}UnknownTopicOrPartitionException", "KAFKA_TOPIC_UNKNOWN"),
        (f"{_ERRORS}TopicAuthorizationException", "KAFKA_NOT_AUTHORIZED"),
        (f"{_ERRORS}GroupAuthorizationException", "KAFKA_NOT_AUTHORIZED"),
        ("org.apache.kafka.common.config.ConfigException", "KAFKA_CLIENT_REFUSED"),
        ("javax.security.auth.login.LoginException", "KAFKA_CLIENT_REFUSED"),
        (f"{_ERRORS}TimeoutException", None),
        ("org.apache.kafka.common.KafkaException", None),
        ("java.util.concurrent.ExecutionException", None),
    ],
)
def test_what_the_exceptions_of_the_client_mean(class_name: str, condition: str | None) -> None:
    found = kafka_failure(class_name, "why", "why at last")
    assert (None if found is None else found.condition) == condition
    assert is_away(class_name) == class_name.endswith("TimeoutException")
    if found is not None:
        assert "why" in found.message
        assert not found.retryable, "a password does not become right by trying"
        assert condition in conditions()
