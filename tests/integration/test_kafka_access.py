"""Who is let in by a Kafka cluster, and what each refusal is called: every listener of one broker, in one run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as descriptor  # noqa: N813 - it is used as a namespace
from tests.cli_runner import own_process, penstock
from tests.integration import kafka_security as security
from tests.integration.kafka_broker import KafkaBroker
from tests.integration.kafka_security import BrokerSecurity
from tests.oracle.tables import read_table, stored
from tests.processes import free_ports
from tests.repo.documents import ROOT, blocks
from tests.schema_registry_server import SchemaRegistryServer, framed
from tests.spark.test_protobuf_values import order, proto, registered

pytestmark = pytest.mark.usefixtures("one_process")

_PIPELINE = """
import dlt
import penstock as ps

PLAIN = "kafkashaded.org.apache.kafka.common.security.plain.PlainLoginModule"  # as on Databricks
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
TRUSTED = {"kafka.ssl.truststore.type": "PEM", "kafka.ssl.truststore.location": spark.conf.get("trusted")}
TLS = {"kafka.security.protocol": "SSL", **TRUSTED}
CERTIFICATE = {"kafka.ssl.keystore.type": "PEM", "kafka.ssl.keystore.location": spark.conf.get("keys")}


def login(user, password, mechanism="PLAIN", module=PLAIN):
    config = f'{module} required username="{user}" password="{password}";'
    protocol = {"kafka.security.protocol": "SASL_SSL", "kafka.sasl.mechanism": mechanism}
    return {**protocol, **TRUSTED, "kafka.sasl.jaas.config": config}


READER = login("reader", "${secret:reader}")
ACCESSES = {
    "by_tls": ("tls", TLS),
    "by_plain": ("login", READER),
    "by_scram_256": ("login", login("orders_reader", "${secret:kafka_password}", "SCRAM-SHA-256", SCRAM)),
    "by_scram_512": ("login", login("orders_reader", "${secret:kafka_password}", "SCRAM-SHA-512", SCRAM)),
    "by_certificate": ("mutual", {**TLS, **CERTIFICATE}),
    "wrong_password": ("login", login("reader", "${secret:kafka_password}")),
    "wrong_mechanism": ("login", login("reader", "${secret:reader}", "GSSAPI")),
    "wrong_module": ("login", login("reader", "x", module="com.example.NoSuchModule")),
    "wrong_host": ("elsewhere", TLS),
    "not_trusted": ("tls", {"kafka.security.protocol": "SSL"}),
    "not_over_tls": ("login", {}),
    "no_certificate": ("mutual", TLS),
    "no_broker": ("nobody", {}),
    "no_topic": ("open", {"subscribe": "order"}),
    "no_partition": ("open", {"subscribe": None, "assign": '{"orders": [0, 7]}'}),
}


def declare(name, listener, options):
    @dlt.table(name=name)
    def rows():
        servers = {"kafka.bootstrap.servers": spark.conf.get(listener), "subscribe": "orders"}
        given = {**servers, "startingOffsets": "earliest", **options}
        given = {key: value for key, value in given.items() if value}
        return spark.readStream.format("kafka").options(**given).load().selectExpr("CAST(value AS STRING) AS value")


for name, (listener, options) in ACCESSES.items():
    declare(name, listener, options)

@dlt.table
def by_event_hubs():
    events = ps.sources.event_hubs("orders_hub", "orders", starting_position="earliest", options=TRUSTED)
    return events.selectExpr("CAST(body AS STRING) AS value", "sequenceNumber", "enqueuedTime", "properties")


@dlt.table
def no_hub():
    return ps.sources.event_hubs("orders_hub", "order", options=TRUSTED)


SINK = {"kafka.bootstrap.servers": spark.conf.get("login"), **READER}
dlt.create_sink("copies", "kafka", {**SINK, "topic": "copies"})
dlt.create_sink("nowhere", "kafka", {**SINK, "topic": "copiez"})


@dlt.append_flow(target="copies")
def copy():
    return dlt.read_stream("by_tls")


@dlt.append_flow(target="nowhere")
def copy_to_nowhere():
    return dlt.read_stream("by_tls")
"""
_SETTINGS = """
name: access
schema: shop
retries: {max_flow_retries: 1, first_delay: 1 second}  # a busy machine may need a second try to log in
secrets:
  reader: ${env:READER}
  kafka_password: ${env:KAFKA_PASSWORD}
  orders_hub: ${env:ORDERS_HUB}
  registry_password: ${env:REGISTRY_PASSWORD}
"""
_REFUSED = {
    "wrong_password": ("KAFKA_LOGIN_REFUSED", "Authentication failed"),
    "wrong_mechanism": ("KAFKA_CLIENT_REFUSED", ""),
    "wrong_module": ("KAFKA_CLIENT_REFUSED", "com.example.NoSuchModule"),
    "wrong_host": ("KAFKA_TLS_FAILED", "127.0.0.1"),
    "not_trusted": ("KAFKA_TLS_FAILED", "certification path"),
    "not_over_tls": ("KAFKA_TLS_FAILED", "the broker speaks TLS, and kafka.security.protocol is PLAINTEXT"),
    "no_certificate": ("KAFKA_TLS_FAILED", "certificate"),
    "no_broker": ("KAFKA_UNREACHABLE", "Connection refused"),
    "no_topic": ("KAFKA_TOPIC_UNKNOWN", "no topic order. Did you mean 'orders'"),
    "no_partition": ("KAFKA_TOPIC_UNKNOWN", "orders with a partition 7"),
    "no_hub": ("KAFKA_TOPIC_UNKNOWN", "no topic order. Did you mean 'orders'"),
    "nowhere": ("KAFKA_TOPIC_UNKNOWN", "Did you mean 'copies'?"),
}
_REGISTRY_PASSWORD = "canary-registry-password"
_AVRO_ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
_BOUND_SECONDS = 300.0  # not for ever, on a slow machine too
"""For all of them; Spark's own client would try each for minutes."""


_TRUSTING = """{"kafka.ssl.truststore.type": "PEM", "kafka.ssl.truststore.location": spark.conf.get("trusted")}"""


def _pages(name: str) -> list[str]:
    """The pipelines of a how-to page, as they stand there."""
    return [block.text for block in blocks(ROOT / f"docs/how-to/{name}.md") if "pipeline" in block.marks]


@pytest.fixture
def registry(secured: tuple[KafkaBroker, BrokerSecurity]) -> Iterator[SchemaRegistryServer]:
    login = f"orders_reader:{_REGISTRY_PASSWORD}"
    with SchemaRegistryServer(login, str(secured[1].keys)) as server:
        yield server


@pytest.mark.timeout(300)
def test_each_access_works_or_is_refused_by_name(
    tmp_path: Path, secured: tuple[KafkaBroker, BrokerSecurity], registry: SchemaRegistryServer
) -> None:
    broker, rules = secured
    for topic in ("orders", "copies", "shop-orders", "large-orders", "avro-orders", "protobuf-orders"):
        broker.create_topic(topic)
    broker.produce("orders", ["1", "2", "3"])
    broker.produce("shop-orders", [{"id": 1, "amount": 5}, {"id": 2, "amount": 2000, "colour": "red"}, "no JSON"])
    number = registry.register("avro-orders-value", _AVRO_ORDER)
    broker.produce("avro-orders", [framed(number, b"\x02"), framed(number, b"\x04"), b"no Avro"])
    described = proto(id=descriptor.TYPE_INT32, note=descriptor.TYPE_STRING)
    number = registered(registry, described, "protobuf-orders-value")
    sent = [order(number, described, id=1, note="a"), order(number, described, id=2), b"no Protobuf"]
    broker.produce("protobuf-orders", sent)
    (tmp_path / "penstock.yml").write_text(_SETTINGS)
    (tmp_path / "pipeline.py").write_text(_PIPELINE)
    (tmp_path / "ca.pem").write_text(rules.trusted.read_text())
    for place, text in enumerate(_pages("kafka")):
        (tmp_path / f"kafka_page_{place}.py").write_text(text)
    # The service's certificate is one that every Java trusts.
    for place, text in enumerate(_pages("event-hubs")):
        trusting = text.replace('"earliest")', f'"earliest", options={_TRUSTING})')
        trusting = trusting.replace("OPTIONS = {", f"OPTIONS = {{\n    **{_TRUSTING},")
        assert trusting.count(_TRUSTING) == 1
        (tmp_path / f"hubs_page_{place}.py").write_text(trusting)
    nobody = f"127.0.0.1:{free_ports(1)[0]}"
    listeners = {
        "tls": rules.tls,
        "login": rules.login,
        "elsewhere": rules.elsewhere,
        "mutual": rules.mutual,
        "open": broker.address,
    }
    configuration = {**listeners, "nobody": nobody, "trusted": str(rules.trusted), "keys": str(rules.keys)}
    configuration |= {"broker": rules.login, "source": str(tmp_path), "registry": registry.address}
    options = [word for key, value in configuration.items() for word in ("--set", f"{key}={value}")]
    environ = {
        "READER": security.PASSWORD,
        "KAFKA_PASSWORD": security.SCRAM_PASSWORD,
        "ORDERS_HUB": rules.connection_string,
        "REGISTRY_PASSWORD": _REGISTRY_PASSWORD,
    }

    outcome = own_process("run", tmp_path, "--json", *options, environ=environ).expect(1)
    told = {error["dataset"].removeprefix("shop."): error for error in outcome.errors}
    assert {name: error["condition"] for name, error in told.items()} == {
        name: condition for name, (condition, _) in _REFUSED.items()
    }
    assert [
        (name, told[name]["message"]) for name, (_, words) in _REFUSED.items() if words not in told[name]["message"]
    ] == []
    assert all(error["fix"] and "Exception:" not in error["message"] for error in told.values())
    assert outcome.seconds < _BOUND_SECONDS
    storage = tmp_path / ".penstock"
    for name in ("by_tls", "by_certificate", "by_plain", "by_scram_256", "by_scram_512", "by_event_hubs"):
        assert sorted(row["value"] for row in read_table(stored(storage, "shop", name))) == ["1", "2", "3"], name
    assert sorted(broker.consume("copies")) == [b"1", b"2", b"3"]
    for name, rescued in {"kafka_orders": 2, "hub_orders": 2, "avro_orders": 1, "protobuf_orders": 1}.items():
        rows = read_table(stored(storage, "shop", name))
        assert sorted(row["id"] or 0 for row in rows) == [0, 1, 2], name
        assert sum(row["_rescued_data"] is not None for row in rows) == rescued, name
    bodies = [row["body"] for row in read_table(stored(storage, "shop", "hub_events"))]
    assert sorted(bodies) == sorted(broker.consume("shop-orders")), "all columns of the connector can be in a table"
    assert [json.loads(value) for value in broker.consume("large-orders")] == [{"id": 2, "amount": 2000.0}]

    said = [outcome.stdout, outcome.stderr]
    said += [penstock(command, tmp_path, environ=environ).stdout for command in ("status", "events")]
    said += [path.read_bytes().decode(errors="replace") for path in storage.rglob("*") if path.is_file()]
    assert len(said) > 20
    assert [text for text in said if "canary-" in text] == []
