"""A real Kafka broker (KRaft, one node) on loopback, started and stopped by the test that needs it."""

from __future__ import annotations

import json
import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, cast

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic  # type: ignore[attr-defined]
from tests.integration.java import broker_class_path, java_executable
from tests.integration.kafka_security import BrokerSecurity
from tests.processes import Server, ServerFailedError, free_ports, wait_until

_HEAP = "400m"
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners={listeners},CONTROLLER://127.0.0.1:{controller}
advertised.listeners={listeners}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL,ELSEWHERE:SSL,MUTUAL:SSL
inter.broker.listener.name=PLAINTEXT
log.dirs={data}
num.partitions=1
num.network.threads=2
num.io.threads=2
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
log.cleaner.enable=false
"""


class SentMessage(NamedTuple):
    """A message as a reader gets it."""

    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes]
    partition: int


def _headers(message: Message) -> dict[str, bytes]:
    return dict(cast("list[tuple[str, bytes]]", message.headers() or []))


class KafkaBroker:
    """One broker with its data in `folder`; a context manager. `security` adds listeners with TLS and logins.

    The address stays the same over `stop` and `start`, and so does the data, as on a broker that was restarted.
    """

    def __init__(self, folder: Path, security: BrokerSecurity | None = None) -> None:
        self._folder = folder
        self._security = security
        self._port, self._controller = free_ports(2)
        self._server = Server(
            "Kafka broker",
            [*self._java(), "kafka.Kafka", str(folder / "server.properties")],
            log=folder / "broker.log",
        )

    def __enter__(self) -> KafkaBroker:
        self._folder.mkdir(parents=True, exist_ok=True)
        properties = self._folder / "server.properties"
        listeners = {"PLAINTEXT": self.address, **(self._security.listeners if self._security else {})}
        told = ",".join(f"{name}://{address}" for name, address in listeners.items())
        text = _PROPERTIES.format(listeners=told, controller=self._controller, data=self._folder / "data")
        properties.write_text(text + (self._security.properties() if self._security else ""))
        # Not any id: one that begins with "-" would be read as an option.
        cluster = urlsafe_b64encode(b"\0" + uuid.uuid4().bytes[1:]).decode().rstrip("=")
        subprocess.run(
            [*self._java(), "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties)],
            check=True,
            capture_output=True,
            timeout=60,
        )
        self.start()
        if self._security:
            self._security.add_scram_user(self.address)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop(grace=2)  # an orderly end is for data that somebody reads again

    @property
    def address(self) -> str:
        """`host:port`, as for `kafka.bootstrap.servers`."""
        return f"127.0.0.1:{self._port}"

    @property
    def server(self) -> Server:
        """The process, for `paused(broker.server)`."""
        return self._server

    def start(self) -> None:
        """Starts a stopped broker and returns once it answers."""
        self._server.start(self._answers, timeout=90)

    def stop(self) -> None:
        """Ends the broker; clients see refused connections from now on."""
        self._server.stop()

    def restart(self) -> None:
        """Stops and starts the broker on the same address and data."""
        self.stop()
        self.start()

    def create_topic(self, topic: str, *, partitions: int = 1) -> None:
        """Creates a topic and returns once it can be written to."""
        admin = AdminClient({"bootstrap.servers": self.address})
        admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1)])[topic].result(30)
        self._wait_for(topic, partitions)

    def add_partitions(self, topic: str, total: int) -> None:
        """Gives a topic more partitions and returns once they can be written to."""
        admin = AdminClient({"bootstrap.servers": self.address})
        admin.create_partitions([NewPartitions(topic, total)])[topic].result(30)
        self._wait_for(topic, total)

    def _wait_for(self, topic: str, partitions: int) -> None:
        """A broker accepts a partition before it leads it; until then producers know no such partition."""
        admin = AdminClient({"bootstrap.servers": self.address})

        def led() -> bool:
            known = admin.list_topics(topic, timeout=10).topics[topic].partitions.values()
            return sum(each.leader >= 0 for each in known) == partitions

        wait_until(led, timeout=60, what=f"{partitions} partitions of {topic}")

    def delete_before(self, topic: str, offset: int, *, partition: int = 0) -> None:
        """Deletes the messages before an offset, as retention does."""
        admin = AdminClient({"bootstrap.servers": self.address})
        [deleted] = admin.delete_records([TopicPartition(topic, partition, offset)]).values()
        deleted.result(30)

    def recreate_topic(self, topic: str) -> None:
        """Deletes a topic with its messages and creates it again, empty."""
        admin = AdminClient({"bootstrap.servers": self.address})
        admin.delete_topics([topic])[topic].result(30)
        wait_until(
            lambda: topic not in admin.list_topics(timeout=10).topics, timeout=30, what="the topic to be deleted"
        )
        self.create_topic(topic)

    def produce(
        self,
        topic: str,
        values: Iterable[bytes | str | Mapping[str, Any] | None],
        *,
        key: str | None = None,
        headers: Mapping[str, bytes] | None = None,
        partition: int = -1,
        timestamp: int = 0,
    ) -> int:
        """Writes the values, mappings as JSON, and returns how many the broker acknowledged.

        `timestamp` is in milliseconds, 0 for now; `partition` -1 leaves the choice to the key.

        Raises:
            ServerFailedError: The broker did not take all of them within 60 s.
        """
        failures: list[str] = []
        count = 0
        producer = Producer({"bootstrap.servers": self.address, "acks": "all", "linger.ms": 20})
        for value in values:
            producer.produce(
                topic,
                json.dumps(value) if isinstance(value, Mapping) else value,
                key=key,
                headers=dict(headers) if headers else None,
                partition=partition,
                timestamp=timestamp,
                on_delivery=lambda error, _: failures.append(str(error)) if error else None,
            )
            producer.poll(0)
            count += 1
        left = producer.flush(60)
        if left or failures:
            raise ServerFailedError(f"{left} messages not sent, {len(failures)} refused: {failures[:3]}")
        return count

    def transaction(self, topic: str, values: Iterable[str], *, commit: bool) -> None:
        """Writes the values in one transaction, which is then committed or aborted."""
        producer = Producer({"bootstrap.servers": self.address, "transactional.id": f"{topic}-writer"})
        producer.init_transactions(30)
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value)
        producer.flush(30)
        if commit:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)

    def consume(self, topic: str, *, partitions: int = 1) -> list[bytes]:
        """Returns the values of all messages that the topic holds now, partition after partition."""
        return [message.value() or b"" for message in self._held(topic, partitions)]

    def messages(self, topic: str, *, partitions: int = 1) -> list[SentMessage]:
        """Returns the messages that the topic holds now, as `consume`."""
        return [
            SentMessage(message.key(), message.value(), _headers(message), message.partition() or 0)
            for message in self._held(topic, partitions)
        ]

    def _held(self, topic: str, partitions: int) -> Iterator[Message]:
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": "test", "enable.auto.commit": False})
        try:
            for partition in range(partitions):
                first, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=30)
                consumer.assign([TopicPartition(topic, partition, first)])
                for _ in range(end - first):
                    message = consumer.poll(30)
                    if message is None or message.error():
                        raise ServerFailedError(f"no message from {topic}/{partition}: {message and message.error()}")
                    yield message
        finally:
            consumer.close()

    def _answers(self) -> bool:
        with suppress(KafkaException):
            quiet: dict[str, str | int | float | bool] = {"bootstrap.servers": self.address, "log_level": 0}
            return bool(AdminClient(quiet).list_topics(timeout=2).brokers)
        return False

    @staticmethod
    def _java() -> list[str]:
        return [java_executable(), f"-Xmx{_HEAP}", "-XX:+UseSerialGC", "-cp", broker_class_path()]
