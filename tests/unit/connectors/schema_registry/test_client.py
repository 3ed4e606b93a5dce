"""The client of a schema registry against a server of ours, and how the registry is told."""

from __future__ import annotations

import pickle
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.schema_registry_server import SchemaRegistryServer

from penstock.connectors.schema_registry.client import RegisteredSchema, SchemaRegistry
from penstock.connectors.schema_registry.settings import fails_fast, registry_of
from penstock.connectors.schema_registry.wire_format import Undecodable, message_indexes, split
from penstock.errors import DefinitionError
from penstock.spark.failures.python_sources import SourceFailure

_USER = "confluent.schema.registry.basic.auth.user.info"


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)


@pytest.fixture
def server() -> Iterator[SchemaRegistryServer]:
    with SchemaRegistryServer() as running:
        yield running


def failure(call: object, *arguments: object) -> SourceFailure:
    assert callable(call)
    with pytest.raises(SourceFailure) as failed:
        call(*arguments)
    return failed.value


def test_the_wire_format() -> None:
    assert split(b"\x00\x00\x00\x01\x02rest") == (258, b"rest")
    assert split(b"\x00\x00\x00\x00\x01") == (1, b"")
    for broken in (b"", b"\x00\x00\x00\x01", b"\x01\x00\x00\x00\x01x", b'{"id": 1}'):
        with pytest.raises(Undecodable):
            split(broken)


def test_the_indexes_of_a_message() -> None:
    assert message_indexes(b"\x00rest") == ((0,), b"rest")
    assert message_indexes(b"\x02\x00") == ((0,), b"")
    assert message_indexes(b"\x04\x02\x80\x02x") == ((1, 128), b"x")
    for broken in (b"", b"\x80", b"\x04\x02", b"\x01", b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x80\x80"):
        with pytest.raises(Undecodable):
            message_indexes(broken)


def test_schemas_by_id_and_the_newest_of_a_subject(server: SchemaRegistryServer) -> None:
    first, second = (server.register("a/b c", text) for text in ('"int"', '"long"'))
    client = SchemaRegistry(server.address + "/")
    assert client.by_id(first) == RegisteredSchema("AVRO", '"int"')
    assert client.latest("a/b c") == client.by_id(second) == RegisteredSchema("AVRO", '"long"')
    assert client.by_id(99) is None
    unknown = failure(client.latest, "orders")
    assert (unknown.condition, unknown.facts["subject"]) == ("SCHEMA_SUBJECT_UNKNOWN", "orders")


def test_schemas_that_a_schema_refers_to_come_before_it(server: SchemaRegistryServer) -> None:
    server.register("c", '"C"')
    server.register("b", '"B"', references=[{"name": "C", "subject": "c", "version": 1}])
    number = server.register("a", '"A"', references=[{"name": "B", "subject": "b", "version": 1}])
    found = SchemaRegistry(server.address).by_id(number)
    assert found == RegisteredSchema("AVRO", '"A"', (("C", '"C"'), ("B", '"B"')))
    broken = server.register("a", '"A"', references=[{"name": "D", "subject": "d", "version": 1}])
    assert failure(SchemaRegistry(server.address).by_id, broken).condition == "SCHEMA_REGISTRY_UNUSABLE"


def test_a_registry_that_comes_back_is_asked_again(server: SchemaRegistryServer) -> None:
    number = server.register("orders", '"int"')
    server.failing = 3
    assert SchemaRegistry(server.address).by_id(number) is not None
    server.failing = 100
    away = failure(SchemaRegistry(server.address).by_id, number)
    assert (away.condition, away.error().is_outage) == ("SCHEMA_REGISTRY_UNREACHABLE", True)
    assert "503" in away.facts["detail"]


def test_nobody_there() -> None:
    with SchemaRegistryServer() as server:
        client = SchemaRegistry(server.address)
    assert failure(client.by_id, 1).condition == "SCHEMA_REGISTRY_UNREACHABLE"


def test_logins(server: SchemaRegistryServer) -> None:
    number = server.register("orders", '"int"')
    server.login = "reader:canary:pä"
    assert SchemaRegistry(server.address, "reader:canary:pä").by_id(number) is not None
    for login in (None, "reader:canary-wrong"):
        client = SchemaRegistry(server.address, login)
        server.asked.clear()
        refused = failure(client.by_id, number)
        assert refused.condition == "SCHEMA_REGISTRY_LOGIN_REFUSED"
        assert len(server.asked) == 1
        assert "canary" not in f"{refused} {client!r}"
    assert pickle.loads(pickle.dumps(client)) == client


def test_something_else_at_the_address(server: SchemaRegistryServer) -> None:
    answered = failure(SchemaRegistry(f"{server.address}/elsewhere").by_id, 1)
    assert (answered.condition, answered.facts["detail"]) == ("SCHEMA_REGISTRY_UNUSABLE", "404 Not Found")


def test_tls(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "ca.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out"]
    subprocess.run([*command, str(certificate)], check=True, capture_output=True, timeout=60)
    both = tmp_path / "both.pem"
    both.write_text(key.read_text() + certificate.read_text())
    with SchemaRegistryServer(certificate=str(both)) as server:
        number = server.register("orders", '"int"')
        assert SchemaRegistry(server.address, ca_file=str(certificate)).by_id(number) is not None
        assert failure(SchemaRegistry(server.address).by_id, number).condition == "SCHEMA_REGISTRY_TLS_FAILED"
        named = server.address.replace("127.0.0.1", "localhost")
        told = failure(SchemaRegistry(named, ca_file=str(certificate)).by_id, number)
        assert told.condition == "SCHEMA_REGISTRY_TLS_FAILED"


def test_a_registry_is_told_with_references_to_secrets() -> None:
    options = {_USER: "reader:${secret:registry}", "mode": "failfast"}
    found = registry_of("avro_values", "https://host:8081", options, {"registry": "canary"}.__getitem__)
    assert found == SchemaRegistry("https://host:8081", "reader:canary")
    assert fails_fast("avro_values", options)
    assert not fails_fast("avro_values", {})


@pytest.mark.parametrize(
    ("address", "options", "parameter"),
    [
        ("host:8081", {}, "schema_registry_address"),
        ("https://reader:canary@host", {}, "schema_registry_address"),
        ("http://host", {_USER: "reader:canary"}, _USER),
        ("http://host", {_USER.replace("info", "inof"): "reader:canary"}, "options"),
        ("http://host", {"confluent.schema.registry.basic.auth.credentials.source": "URL"}, "credentials.source"),
        ("http://host", {"confluent.schema.registry.ssl.truststore.type": "JKS"}, "truststore.type"),
        ("http://host", {"confluent.schema.registry.ssl.truststore.location": "/no/such"}, "truststore.location"),
    ],
)
def test_what_is_not_understood(address: str, options: dict[str, str], parameter: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        registry_of("avro_values", address, options, str)
    assert refused.value.condition == "INVALID_PARAMETER"
    assert parameter in refused.value.facts["parameter"]
    assert "canary" not in str(refused.value)


def test_modes() -> None:
    with pytest.raises(DefinitionError, match="INVALID_PARAMETER"):
        fails_fast("avro_values", {"mode": "DROPMALFORMED"})
