"""Messages in Protobuf with a schema registry, as columns; no broker is needed for that."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import timestamp_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass
from pyspark.sql import SparkSession
from tests.schema_registry_server import SchemaRegistryServer, framed
from tests.spark.pipeline_project import PipelineProject
from tests.spark.test_avro_values import messages

import penstock as ps
from penstock.errors import DefinitionError

_F = FieldDescriptorProto
_PLAIN = {"id": _F.TYPE_INT32, "note": _F.TYPE_STRING}


def proto(**fields: int | str) -> FileDescriptorProto:
    """A file with the messages shop.Other and shop.Order; a text is the name of a message or an enum."""
    file = FileDescriptorProto(package="shop", syntax="proto3", dependency=["google/protobuf/timestamp.proto"])
    file.message_type.add(name="Other").field.add(name="x", number=1, type=_F.TYPE_INT32, label=_F.LABEL_OPTIONAL)
    kind = file.enum_type.add(name="Kind")
    for number, name in enumerate(("NONE", "SALE")):
        kind.value.add(name=name, number=number)
    order = file.message_type.add(name="Order")
    tags = order.nested_type.add(name="TagsEntry")
    tags.options.map_entry = True
    for number, (name, of) in enumerate((("key", _F.TYPE_STRING), ("value", _F.TYPE_UINT64)), 1):
        tags.field.add(name=name, number=number, type=of, label=_F.LABEL_OPTIONAL)
    for number, (name, told) in enumerate(fields.items(), 1):
        many = _F.LABEL_REPEATED if name in {"tags", "many"} else _F.LABEL_OPTIONAL
        field = order.field.add(name=name, number=number, label=many)
        if isinstance(told, str):
            field.type, field.type_name = (_F.TYPE_ENUM if told == ".shop.Kind" else _F.TYPE_MESSAGE), told
        else:
            field.type = told
    return file


def registered(server: SchemaRegistryServer, file: FileDescriptorProto, subject: str = "orders-value") -> int:
    return server.register(subject, base64.b64encode(file.SerializeToString()).decode(), "PROTOBUF")


def order(of: int, file: FileDescriptorProto, indexes: bytes = b"\x02\x02", **values: Any) -> bytes:
    """A message of shop.Order, the second of its file: `[1]`, zigzag-coded."""
    pool = DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    named = FileDescriptorProto()
    named.CopyFrom(file)
    named.name = "order.proto"
    pool.AddSerializedFile(named.SerializeToString())
    made = ParseDict(values, GetMessageClass(pool.FindMessageTypeByName("shop.Order"))())
    return framed(of, indexes + made.SerializeToString())


def test_each_message_is_read_by_numbers_and_nothing_is_lost(spark: SparkSession) -> None:
    with SchemaRegistryServer() as registry:
        first, more = proto(**_PLAIN), proto(**_PLAIN, colour=_F.TYPE_STRING)
        newer, number = registered(registry, more, "elsewhere"), registered(registry, first)
        renumbered = proto(note=_F.TYPE_STRING, id=_F.TYPE_INT32)
        other = registered(registry, renumbered, "elsewhere")
        avro = registry.register("elsewhere", '"int"')
        good = order(number, first, id=1, note="a")
        broken = (
            b"no Protobuf", framed(number, b""), framed(number, b"\x04"), framed(number, b"\x02\x02\xff"),
            framed(number, b"\x00"), framed(number, b"\x02\x08"), framed(77, b"\x02\x02"),
            order(other, renumbered, id=1), framed(avro, b"\x02\x02"),
        )  # fmt: skip
        frame = messages(
            spark, good, order(newer, more, id=2, colour="red"), order(newer, more, id=3), framed(number, b"\x02\x02"),
            None, *broken,
        )  # fmt: skip
        read = ps.sources.protobuf_values(
            frame, "orders-value", registry.address, message_name="Order", keep=["offset"]
        )
        rows = read.orderBy("offset").collect()
    expected = [(1, "a"), (2, ""), (3, ""), (0, ""), (None, None)]
    assert [tuple(row)[:2] for row in rows] == expected + [(None, None)] * len(broken)
    rescued: list[Any] = [json.loads(row["_rescued_data"] or "null") for row in rows]
    place = {"_topic": "orders", "_partition": 3}
    assert rescued[:5] == [None, {"colour": "red", **place, "_offset": 11}, None, None, None]
    assert [base64.b64decode(each["_corrupt_record"]) for each in rescued[5:]] == list(broken)
    why = [each["_error"] for each in rescued[5:]]
    assert why[4] == "it is a shop.Other, not a shop.Order"
    assert "of another type" in why[7]


def test_fields_that_no_schema_has_are_rescued(spark: SparkSession) -> None:
    told, sent = proto(id=_F.TYPE_INT32, other=".shop.Other"), proto(id=_F.TYPE_INT32, other=".shop.Other", more="")
    sent.message_type[1].field[2].ClearField("type_name")
    sent.message_type[1].field[2].type = _F.TYPE_STRING
    sent.message_type[0].field.add(name="deep", number=9, type=_F.TYPE_INT32, label=_F.LABEL_OPTIONAL)
    with SchemaRegistryServer() as registry:
        number = registered(registry, told)
        sentences = (
            order(number, sent, id=1, more="secret"), order(number, sent, id=2, other={"x": 1, "deep": 7}),
            order(number, sent, id=3, other={"x": 1}),
        )  # fmt: skip
        read = ps.sources.protobuf_values(
            messages(spark, *sentences), "orders-value", registry.address, message_name="Order", keep=["offset"]
        )
        rows = read.orderBy("offset").collect()
    assert [row["id"] for row in rows] == [1, 2, 3]
    kept = [json.loads(row["_rescued_data"] or "{}").get("_unknown_fields") for row in rows]
    assert [each and framed(number, b"\x02\x02" + base64.b64decode(each)) for each in kept] == [*sentences[:2], None]


def test_types(spark: SparkSession, tmp_path: Path) -> None:
    file = proto(
        at=".google.protobuf.Timestamp", kind=".shop.Kind", tags=".shop.Order.TagsEntry", many=_F.TYPE_BYTES,
        unsigned=_F.TYPE_UINT32, other=".shop.Other", amount=_F.TYPE_DOUBLE,
    )  # fmt: skip
    named = FileDescriptorProto()
    named.CopyFrom(file)
    named.name = "order.proto"
    google = FileDescriptorProto.FromString(timestamp_pb2.DESCRIPTOR.serialized_pb)
    (tmp_path / "order.desc").write_bytes(FileDescriptorSet(file=[google, named]).SerializeToString())
    with SchemaRegistryServer() as registry:
        number = registered(registry, file)
        values: dict[str, Any] = {
            "at": "2026-01-31T12:00:00.000001Z", "kind": "SALE", "tags": {"a": 2**64 - 1}, "many": ["/w==", ""],
            "unsigned": 2**32 - 1, "amount": 0.5,
        }  # fmt: skip
        full, empty = order(number, file, **values), order(number, file, kind=7)
        frame = ps.sources.protobuf_values(
            messages(spark, full, empty), None, registry.address, message_name="shop.Order",
            desc_file_path=str(tmp_path / "order.desc"),
        )  # fmt: skip
        assert dict(frame.dtypes) == {
            "at": "timestamp", "kind": "string", "tags": "map<string,decimal(20,0)>", "many": "array<binary>",
            "unsigned": "bigint", "other": "struct<x:int>", "amount": "double", "_rescued_data": "string",
        }  # fmt: skip
        row, bare = frame.selectExpr("*", "unix_micros(at) % 1000000 AS us").collect()
    assert (row["us"], row["kind"], row["tags"], row["unsigned"]) == (1, "SALE", {"a": 2**64 - 1}, 2**32 - 1)
    assert [bytes(each) for each in row["many"]] == [b"\xff", b""]
    assert (bare["at"], bare["kind"], bare["tags"], bare["other"], bare["amount"]) == (None, "7", {}, None, 0.0)


def test_a_stream(project: PipelineProject) -> None:
    path, file = str(project.directory / "messages"), proto(**_PLAIN)
    with SchemaRegistryServer() as registry:
        number = registered(registry, file)
        frame = messages(project.spark, order(number, file, id=1, note="a"), b"broken")
        frame.write.format("delta").save(path)
        project.write(f"""
        @ps.table
        def orders():
            messages = spark.readStream.format("delta").load({path!r})
            return ps.sources.protobuf_values(messages, "orders-value", {registry.address!r}, message_name="Order")
        """)
        assert project.run().errors == ()
    assert project.rows("orders", "id", "note") == [(1, "a"), (None, None)]


def test_schemas_that_are_no_columns(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "none.desc").write_bytes(b"\xff")
    with SchemaRegistryServer() as registry:
        registered(registry, proto(again=".shop.Order"))
        registry.register("as-text", 'syntax = "proto3";', "PROTOBUF")
        registry.register("avro", '"int"')
        cases: tuple[tuple[str | None, dict[str, Any]], ...] = (
            ("orders-value", {"message_name": "Order"}),
            ("orders-value", {"message_name": "Nothing"}),
            ("as-text", {}),
            ("avro", {}),
            (None, {"desc_file_path": str(tmp_path / "none.desc")}),
        )
        for subject, told in cases:
            with pytest.raises(DefinitionError, match="SCHEMA_UNSUPPORTED"):
                ps.sources.protobuf_values(messages(spark), subject, registry.address, **told)
        with pytest.raises(DefinitionError, match="INVALID_PARAMETER"):
            ps.sources.protobuf_values(messages(spark), None, registry.address)
