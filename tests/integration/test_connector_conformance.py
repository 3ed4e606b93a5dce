"""Penstock's connectors of servers pass the tests that it gives to others: Kafka, Event Hubs, and Kinesis."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping

import pytest
from tests.integration.kafka_broker import KafkaBroker
from tests.integration.kafka_security import CONNECTION_STRING, BrokerSecurity
from tests.integration.kinesis_server import KinesisServer

from penstock.testing.connectors import RateLimitConformance, SinkConformance, SourceConformance

pytestmark = [
    pytest.mark.slow,  # a session and two servers; what a pipeline reads and writes there, other tests tell
    pytest.mark.timeout(600),
]
_names = itertools.count()


class TestKafkaSource(RateLimitConformance):
    format = "kafka"
    id = "get_json_object(CAST(value AS STRING), '$.id')"

    @pytest.fixture(autouse=True)
    def topic(self, kafka: KafkaBroker) -> None:
        self.kafka, self.name = kafka, f"conformance_{next(_names)}"
        kafka.create_topic(self.name)

    def options(self) -> Mapping[str, str]:
        earliest = {"subscribe": self.name, "startingOffsets": "earliest"}
        return {"kafka.bootstrap.servers": self.kafka.address, **earliest}

    def put(self, ids: Iterable[int]) -> None:
        self.kafka.produce(self.name, [{"id": each} for each in ids])

    def two_rows(self) -> Mapping[str, str]:
        return {"maxOffsetsPerTrigger": "2"}


class TestEventHubsSource(RateLimitConformance):
    format = "eventhubs"
    id = "get_json_object(CAST(body AS STRING), '$.id')"
    secret = CONNECTION_STRING.rpartition("SharedAccessKey=")[2]

    @pytest.fixture(autouse=True)
    def hub(self, secured: tuple[KafkaBroker, BrokerSecurity]) -> None:
        self.kafka, self.rules = secured
        self.name = f"conformance_{next(_names)}"
        self.kafka.create_topic(self.name)

    def options(self) -> Mapping[str, str]:
        trusted = {"kafka.ssl.truststore.type": "PEM", "kafka.ssl.truststore.location": str(self.rules.trusted)}
        told = {"eventhubs.connectionString": self.rules.connection_string, "eventhubs.name": self.name}
        return {**told, **trusted, "eventhubs.startingPosition": '{"offset": "-1", "seqNo": -1, "isInclusive": true}'}

    def put(self, ids: Iterable[int]) -> None:
        self.kafka.produce(self.name, [{"id": each} for each in ids])

    def two_rows(self) -> Mapping[str, str]:
        return {"maxEventsPerTrigger": "2"}


class TestKafkaSink(SinkConformance):
    format = "kafka"
    checks_options = False
    columns = ("to_json(struct(id, text)) AS value",)

    @pytest.fixture(autouse=True)
    def topic(self, kafka: KafkaBroker) -> None:
        self.kafka, self.name = kafka, f"conformance_{next(_names)}"
        kafka.create_topic(self.name)

    def options(self) -> Mapping[str, str]:
        return {"kafka.bootstrap.servers": self.kafka.address, "topic": self.name}

    def stored(self) -> list[int]:
        return [json.loads(value)["id"] for value in self.kafka.consume(self.name)]


class TestKinesisSource(SourceConformance):
    format = "kinesis"
    id = "CAST(data AS STRING)"
    secret = "canary-of-conformance"

    @pytest.fixture(autouse=True)
    def stream(self, kinesis: KinesisServer) -> None:
        self.kinesis, self.name = kinesis, f"conformance-{next(_names)}"
        kinesis.create(self.name, shards=2)

    def options(self) -> Mapping[str, str]:
        return self.kinesis.options(self.name, awsSessionToken=self.secret)

    def put(self, ids: Iterable[int]) -> None:
        self.kinesis.put(self.name, map(str, ids))
