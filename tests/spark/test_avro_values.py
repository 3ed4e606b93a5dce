"""Messages in Avro with a schema registry, as columns; no broker is needed for that."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_writer
from pyspark.sql import DataFrame, SparkSession
from tests.schema_registry_server import SchemaRegistryServer, framed
from tests.spark.pipeline_project import PipelineProject

import penstock as ps
from penstock.errors import DefinitionError
from penstock.spark.failures.translate import translate_failure

_KAFKA = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT"


def record(*fields: tuple[Any, ...], name: str = "Order") -> dict[str, Any]:
    keys = ("name", "type", "default")
    return {"type": "record", "name": name, "fields": [dict(zip(keys, field, strict=False)) for field in fields]}


_FIRST = record(("id", "int"), ("amount", "double"))
_SECOND = record(("id", "long"), ("amount", "double"), ("colour", ["null", "string"], None))
_THIRD = record(*((f["name"], f["type"], *([f["default"]] if "default" in f else [])) for f in _SECOND["fields"]),
                ("more", ["null", "bytes"], None))  # fmt: skip


def avro(of: int, schema: Any, **values: Any) -> bytes:
    out = BytesIO()
    schemaless_writer(out, parse_schema(schema), values)
    return framed(of, out.getvalue())


def messages(spark: SparkSession, *values: bytes | None) -> DataFrame:
    rows = [(f"k{n}".encode(), value, "orders", 3, 10 + n) for n, value in enumerate(values)]
    return spark.createDataFrame(rows, _KAFKA)


@pytest.fixture
def registry() -> Iterator[SchemaRegistryServer]:
    with SchemaRegistryServer() as server:
        yield server


def test_each_message_is_resolved_from_its_own_schema_and_nothing_is_lost(
    spark: SparkSession, registry: SchemaRegistryServer
) -> None:
    numbers = [registry.register("orders-value", schema) for schema in (_FIRST, _SECOND)]
    newer = registry.register("elsewhere", _THIRD)
    other = registry.register("elsewhere", record(("id", "string")))
    good = avro(numbers[1], _SECOND, id=2, amount=2.5, colour="red")
    broken = (b"no Avro", b"", framed(numbers[1], b""), good + b"\x00", framed(77, b"\x02"), framed(other, b"\x02x"))
    frame = messages(
        spark,
        avro(numbers[0], _FIRST, id=1, amount=1.5),
        good,
        avro(newer, _THIRD, id=3, amount=3.5, colour=None, more=b"\xff"),
        avro(newer, _THIRD, id=4, amount=4.5, colour=None, more=None),
        None,
        *broken,
    )
    read = ps.sources.avro_values(frame, "orders-value", registry.address, keep=["key", "offset"])
    assert read.dtypes[:3] == [("id", "bigint"), ("amount", "double"), ("colour", "string")]
    rows = read.orderBy("offset").collect()
    assert [tuple(row)[:3] for row in rows[:5]] == [
        (1, 1.5, None), (2, 2.5, "red"), (3, 3.5, None), (4, 4.5, None), (None, None, None),
    ]  # fmt: skip
    place = {"_topic": "orders", "_partition": 3}
    rescued: list[Any] = [json.loads(row["_rescued_data"] or "null") for row in rows]
    assert rescued[:5] == [None, None, {"more": "/w==", **place, "_offset": 12}, None, None]
    assert [base64.b64decode(each["_corrupt_record"]) for each in rescued[5:]] == list(broken)
    assert [each["_offset"] for each in rescued[5:]] == [15, 16, 17, 18, 19, 20]
    why = [each["_error"] for each in rescued[5:]]
    assert "zero byte" in why[0]
    assert why[3:5] == ["1 bytes are left over", "the registry has no schema 77"]
    assert {row["id"] for row in rows[4:]} == {None}


def test_types_are_those_that_spark_reads_from_avro(spark: SparkSession, registry: SchemaRegistryServer) -> None:
    inner = record(("a", "int"), ("when", {"type": "long", "logicalType": "timestamp-millis"}), name="Inner")
    schema = record(
        ("price", {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 4}),
        ("day", {"type": "int", "logicalType": "date"}),
        ("at", {"type": "long", "logicalType": "timestamp-micros"}),
        ("kind", {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}),
        ("code", {"type": "fixed", "name": "Code", "size": 2}),
        ("tags", {"type": "array", "items": ["null", "string"]}),
        ("inners", {"type": "map", "values": inner}),
        ("again", ["null", "Inner"], None),
        ("number", ["int", "long"]),
    )
    number = registry.register("typed", schema)
    time = datetime(2026, 1, 31, 12, tzinfo=UTC)
    values = {
        "price": Decimal("9" * 34 + ".0001"), "day": date(2026, 1, 31), "at": time, "kind": "B", "code": b"xy",
        "tags": ["a", None], "inners": {"k": {"a": 1, "when": time}}, "again": None, "number": 2**40,
    }  # fmt: skip
    long = record(*((f["name"], "long" if f["name"] == "at" else f["type"]) for f in schema["fields"]))
    late = {"k": {"a": 1, "when": 2**62}}
    far = avro(
        number, json.loads(json.dumps(long).replace("timestamp-millis", "none")), **values | {"inners": late, "at": 1}
    )
    frame = ps.sources.avro_values(messages(spark, avro(number, schema, **values), far), "typed", registry.address)
    assert dict(frame.dtypes) == {
        "price": "decimal(38,4)", "day": "date", "at": "timestamp", "kind": "string", "code": "binary",
        "tags": "array<string>", "inners": "map<string,struct<a:int,when:timestamp>>",
        "again": "struct<a:int,when:timestamp>", "number": "bigint", "_rescued_data": "string",
    }  # fmt: skip
    row, misfit = frame.selectExpr("*", "unix_micros(at) AS us", "unix_micros(inners['k'].when) AS ms").collect()
    assert row["us"] == row["ms"] == time.timestamp() * 1_000_000
    assert (row["price"], row["day"], row["kind"], bytes(row["code"])) == (values["price"], values["day"], "B", b"xy")
    assert (row["tags"], row["inners"]["k"]["a"], row["again"], row["number"]) == (["a", None], 1, None, 2**40)
    assert misfit["price"] is None
    assert "does not fit" in json.loads(misfit["_rescued_data"])["_error"]


def test_a_stream_takes_what_is_broken_and_a_newer_schema_at_its_next_start(
    project: PipelineProject, registry: SchemaRegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark, path = project.spark, str(project.directory / "messages")
    registry.login = "reader:canary-registry"
    monkeypatch.setenv("REGISTRY_PASSWORD", "canary-registry")
    first = registry.register("orders-value", _FIRST)
    messages(spark, avro(first, _FIRST, id=1, amount=1.5), b"broken").write.format("delta").save(path)
    code = f"""
    @ps.table
    def orders():
        user = {{"confluent.schema.registry.basic.auth.user.info": "reader:${{secret:registry}}"}}
        messages = spark.readStream.format("delta").load({path!r})
        return ps.sources.avro_values(messages, "orders-value", {registry.address!r}, options=user)
    """
    project.write(code)
    project.settings["secrets"] = "{registry: '${env:REGISTRY_PASSWORD}'}"
    update = project.run()
    assert update.errors == ()
    added = record(("id", "int"), ("amount", "double"), ("colour", ["null", "string"], None))
    second = registry.register("orders-value", added)
    messages(spark, avro(second, added, id=2, amount=2.5, colour="red")).write.format("delta").mode("append").save(path)
    update = project.run()
    assert update.errors == ()
    assert project.rows("orders", "id", "amount", "colour") == [(1, 1.5, None), (2, 2.5, "red"), (None, None, None)]
    files = [each.read_bytes() for each in (project.directory / ".penstock").rglob("*") if each.is_file()]
    assert [data for data in files if b"canary" in data] == []


def test_what_cannot_be_decoded_fails_the_flow_where_that_is_asked(
    spark: SparkSession, registry: SchemaRegistryServer
) -> None:
    number = registry.register("orders-value", _FIRST)
    frame = messages(spark, avro(number, _FIRST, id=1, amount=1.5), b"broken")
    read = ps.sources.avro_values(frame, "orders-value", registry.address, options={"mode": "FAILFAST"}).select("id")
    with pytest.raises(Exception, match="USER_RAISED_EXCEPTION") as failed:
        read.collect()
    told = translate_failure(failed.value, dataset="shop.orders", flow="orders")
    assert told.condition == "MESSAGE_UNDECODABLE"
    assert json.loads(told.facts["place"]) == {"_topic": "orders", "_partition": 3, "_offset": 11}


def test_a_registry_that_goes_away_is_told_by_name(spark: SparkSession, registry: SchemaRegistryServer) -> None:
    frame = messages(spark, framed(1, b""))
    read = ps.sources.avro_values(frame, None, registry.address, schema=json.dumps(_FIRST))
    registry.failing = 100
    with pytest.raises(Exception, match="penstock source failure") as failed:
        read.collect()
    told = translate_failure(failed.value, dataset="shop.orders", flow="orders")
    assert (told.condition, told.is_outage) == ("SCHEMA_REGISTRY_UNREACHABLE", True)


def test_names_that_stand_twice_and_schemas_without_columns(
    spark: SparkSession, registry: SchemaRegistryServer
) -> None:
    registry.register("orders-value", _FIRST)
    with pytest.raises(DefinitionError, match="INVALID_PARAMETER"):
        ps.sources.avro_values(messages(spark), "orders-value", registry.address, keep=["ID"])
    for schema in ('"int"', "{", json.dumps(record(("u", ["int", "string"])))):
        with pytest.raises(DefinitionError, match="SCHEMA_UNSUPPORTED"):
            ps.sources.avro_values(messages(spark), None, registry.address, schema=schema)
