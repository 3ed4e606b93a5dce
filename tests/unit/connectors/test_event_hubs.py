"""A read of Event Hubs in the words of Kafka: the login, where reading begins, and each option of the connector."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.connectors.event_hubs.options import (
    DECLARED,
    OPTIONS,
    REFUSED,
    SHARED,
    WITHOUT_EFFECT,
    ConnectionString,
    kafka_read,
)
from penstock.connectors.event_hubs.positions import starting_options
from penstock.connectors.kafka.connector import DECLARED as DECLARED_BY_KAFKA
from penstock.errors import DefinitionError
from penstock.spark.sources.option import check_options
from penstock.spark.sources.stream_read import StreamRead

_KEY = "canary-key="
_NAMESPACE = f"Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=reader;SharedAccessKey={_KEY}"
_POSITION = "eventhubs.startingPosition"


def read(*, connection: str = f"{_NAMESPACE};EntityPath=orders", **options: str) -> StreamRead:
    given = {key.replace("__", "."): value for key, value in options.items()}
    options = {"eventhubs.connectionString": connection, **given}
    check_options("eventhubs", DECLARED, options)
    return kafka_read(StreamRead("eventhubs", options))


def position(**told: Any) -> str:
    return json.dumps({"offset": None, "seqNo": -1, "enqueuedTime": None, "isInclusive": True, **told})


def test_one_connection_string_is_all_that_kafka_asks_for() -> None:
    found = read()
    assert found.format == "kafka"
    assert found.options["kafka.bootstrap.servers"] == "shop.servicebus.windows.net:9093"
    assert found.options["kafka.security.protocol"] == "SASL_SSL"
    assert found.options["kafka.sasl.mechanism"] == "PLAIN"
    assert found.options["kafka.sasl.jaas.config"] == (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'username="$ConnectionString" password="{_NAMESPACE};EntityPath=orders";'
    )
    assert (found.options["subscribe"], found.options["startingOffsets"]) == ("orders", "latest")
    check_options("kafka", DECLARED_BY_KAFKA, found.options)  # Kafka's own check takes all of them


def test_the_hub_of_the_option_comes_before_that_of_the_string() -> None:
    assert read(eventhubs__name="items").options["subscribe"] == "items"
    assert read(connection=_NAMESPACE, eventhubs__name="items").options["subscribe"] == "items"
    with pytest.raises(DefinitionError) as missing:
        read(connection=_NAMESPACE)
    assert missing.value.condition == "EVENT_HUBS_HUB_MISSING"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "Endpoint"),
        ("Endpoint=https://shop.example/;SharedAccessKeyName=a;SharedAccessKey=canary-key=", "Endpoint"),
        ("Endpoint=sb://shop.example/;SharedAccessKey=canary-key=", "SharedAccessKeyName"),
        ("Endpoint=sb://shop.example/;SharedAccessKeyName=canary-name", "SharedAccessKey'"),
        ("canary-key", "Endpoint"),
    ],
)
def test_a_string_that_is_none_is_told_without_quoting_it(text: str, reason: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        ConnectionString.parse(text)
    assert refused.value.condition == "EVENT_HUBS_CONNECTION_STRING_INVALID"
    assert reason in refused.value.message
    assert "canary" not in f"{refused.value.message} {refused.value.fix} {refused.value.facts}"


def test_parts_come_in_any_order_and_case() -> None:
    text = "sharedaccesskey=k=;ENDPOINT=sb://127.0.0.1:19093/;SharedAccessKeyName=n;entitypath=orders; "
    found = ConnectionString.parse(text)
    assert (found.server, found.hub) == ("127.0.0.1:19093", "orders")
    assert ConnectionString.parse("Endpoint=sb://a.b/;SharedAccessSignature=s").server == "a.b:9093"
    assert "k=" not in repr(found)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, {"startingOffsets": "latest"}),
        (position(offset="-1"), {"startingOffsets": "earliest"}),
        (position(offset="@latest"), {"startingOffsets": "latest"}),
        (
            position(enqueuedTime="2026-01-31T12:00:00.500Z"),
            {"startingTimestamp": "1769860800500", "startingOffsetsByTimestampStrategy": "latest"},
        ),
        (
            position(enqueuedTime="2026-01-31T12:00:00.500"),
            {"startingTimestamp": "1769860800500", "startingOffsetsByTimestampStrategy": "latest"},
        ),
    ],
)
def test_one_position_for_all_partitions(given: str | None, expected: dict[str, str]) -> None:
    assert starting_options("orders", given, None) == expected


def test_a_position_for_each_partition() -> None:
    def keys(**positions: dict[str, Any]) -> str:
        return json.dumps({f'{{"ehName": "orders", "partitionId": {p[1:]}}}': told for p, told in positions.items()})

    told = keys(p0={"offset": "-1"}, p1={"seqNo": 7}, p2={"seqNo": 7, "isInclusive": False}, p3={"offset": "@latest"})
    expected = {"orders": {"0": -2, "1": 7, "2": 8, "3": -1}}
    assert json.loads(starting_options("orders", None, told)["startingOffsets"]) == expected
    times = keys(p0={"enqueuedTime": "1970-01-01T00:00:01Z"}, p1={"enqueuedTime": "1970-01-01T00:00:02Z"})
    found = starting_options("orders", None, times)
    assert json.loads(found["startingOffsetsByTimestamp"]) == {"orders": {"0": 1000, "1": 2000}}
    mixed = keys(p0={"enqueuedTime": "1970-01-01T00:00:01Z"}, p1={"seqNo": 7})
    with pytest.raises(DefinitionError, match="SOURCE_OPTION_REFUSED"):
        starting_options("orders", None, mixed)
    with pytest.raises(DefinitionError, match="EVENT_HUBS_POSITION_INVALID"):
        starting_options("items", None, told)
    with pytest.raises(DefinitionError, match="SOURCE_OPTION_REFUSED"):
        starting_options("orders", position(offset="-1"), told)


@pytest.mark.parametrize(
    ("given", "condition"),
    [
        ("-1", "EVENT_HUBS_POSITION_INVALID"),
        ("earliest", "EVENT_HUBS_POSITION_INVALID"),
        (position(), "EVENT_HUBS_POSITION_INVALID"),
        (position(enqueuedTime="yesterday"), "EVENT_HUBS_POSITION_INVALID"),
        (position(offset="4711"), "SOURCE_OPTION_REFUSED"),
        (position(seqNo=5), "SOURCE_OPTION_REFUSED"),
    ],
)
def test_positions_that_kafka_cannot_begin_at(given: str, condition: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        read(**{_POSITION: given})
    assert refused.value.condition == condition
    assert refused.value.facts["option"] == _POSITION


def test_each_option_of_the_connector_is_taken_without_effect_or_refused() -> None:
    found = read(
        eventhubs__consumerGroup="shop",
        maxEventsPerTrigger="500",
        kafka__request__timeout__ms="5000",
        minPartitions="4",
        eventhubs__prefetchCount="9",
    ).options
    assert {key: found[key] for key in ("groupIdPrefix", "maxOffsetsPerTrigger", "minPartitions")} == {
        "groupIdPrefix": "shop", "maxOffsetsPerTrigger": "500", "minPartitions": "4"
    }  # fmt: skip
    assert found["kafka.request.timeout.ms"] == "5000"
    assert not any(key.casefold().startswith("eventhubs") for key in found)
    assert "groupIdPrefix" not in read(eventhubs__consumerGroup="$Default").options
    assert read(eventhubs__maxEventsPerTrigger="3").options["maxOffsetsPerTrigger"] == "3"
    assert not {option.casefold() for option in (*OPTIONS, *SHARED, *WITHOUT_EFFECT)} & set(map(str.casefold, REFUSED))
    for option in WITHOUT_EFFECT:
        assert read(**{option: "1"}).options == read().options
    for option in REFUSED:
        with pytest.raises(DefinitionError, match="SOURCE_OPTION_REFUSED"):
            read(**{option: "1"})
    with pytest.raises(DefinitionError, match=r"eventhubs\.startingPosition"):
        read(eventhubs__startPosition="{}")
    with pytest.raises(DefinitionError, match="SOURCE_OPTION_REFUSED"):
        read(kafka__auto__offset__reset="earliest")
