"""Times messages that become columns: `python -m benchmarks.messages [--rows N] [--repeat N]`.

The same orders in JSON, Avro and Protobuf, of five fields, are read from Parquet and decoded, and the columns are
written nowhere. The schemas are those of the reader, in a registry of the tests on loopback. The first rounds
are not measured.
"""

from __future__ import annotations

import argparse
import base64
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from fastavro import parse_schema, schemaless_writer
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from pyspark.sql import DataFrame, SparkSession
from tests.schema_registry_server import SchemaRegistryServer, framed

import penstock as ps
from benchmarks.arguments import parse, parser_of
from benchmarks.compare import publish
from benchmarks.session import start_session, stop_session
from penstock.spark.session.launch import SessionConfig

_JSON, _AVRO, _PROTOBUF = "json_values", "avro_values", "protobuf_values"
_FIELDS = {"id": "long", "customer": "string", "amount": "double", "at": "long", "note": "string"}
_DDL = "id BIGINT, customer STRING, amount DOUBLE, at BIGINT, note STRING"
_NUMBERS = {
    "long": FieldDescriptorProto.TYPE_INT64,
    "string": FieldDescriptorProto.TYPE_STRING,
    "double": FieldDescriptorProto.TYPE_DOUBLE,
}


def main() -> int:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="messages-", dir=given.work) as folder, SchemaRegistryServer() as registry:
        spark = start_session(SessionConfig("messages"))
        for name, messages in _formats(registry, given.rows).items():
            pq.write_table(
                pa.table({"value": pa.array(messages, pa.binary())}), f"{folder}/{name}", row_group_size=100_000
            )
        seconds = _measure(spark, registry, folder, given)
        stop_session(spark)
    arguments = {name: getattr(given, name) for name in ("rows", "repeat", "warm_up")}
    publish("messages", arguments, _results(seconds, given.rows), given.results)
    return 0


def _formats(registry: SchemaRegistryServer, rows: int) -> dict[str, Iterator[bytes]]:
    fields = [{"name": name, "type": kind} for name, kind in _FIELDS.items()]
    avro = {"type": "record", "name": "Order", "fields": fields}
    parsed, of_avro = parse_schema(avro), registry.register("avro", avro)

    def in_avro(order: dict[str, Any]) -> bytes:
        out = BytesIO()
        schemaless_writer(out, parsed, order)
        return framed(of_avro, out.getvalue())

    file = FileDescriptorProto(name="order.proto", syntax="proto3")
    message = file.message_type.add(name="Order")
    for number, (name, kind) in enumerate(_FIELDS.items(), 1):
        message.field.add(name=name, number=number, type=_NUMBERS[kind], label=FieldDescriptorProto.LABEL_OPTIONAL)
    pool = DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    of_order = GetMessageClass(pool.FindMessageTypeByName("Order"))
    number = registry.register("protobuf", base64.b64encode(file.SerializeToString()).decode(), "PROTOBUF")
    return {
        _JSON: (json.dumps(order).encode() for order in _orders(rows)),
        _AVRO: (in_avro(order) for order in _orders(rows)),
        _PROTOBUF: (framed(number, b"\x00" + of_order(**order).SerializeToString()) for order in _orders(rows)),
    }


def _orders(rows: int) -> Iterator[dict[str, Any]]:
    for n in range(rows):
        yield {"id": n, "customer": f"c{n % 1000}", "amount": n / 8, "at": 1_700_000_000_000 + n, "note": "as usual"}


def _measure(
    spark: SparkSession, registry: SchemaRegistryServer, folder: str, given: argparse.Namespace
) -> dict[str, list[float]]:
    ways: dict[str, Callable[[DataFrame], DataFrame]] = {
        _JSON: lambda frame: ps.sources.json_values(frame, _DDL),
        _AVRO: lambda frame: ps.sources.avro_values(frame, "avro", registry.address),
        _PROTOBUF: lambda frame: ps.sources.protobuf_values(frame, "protobuf", registry.address),
    }
    measured: dict[str, list[float]] = {what: [] for what in ways}
    for number in range(given.warm_up + given.repeat):
        for what, read in ways.items():
            decoded = read(spark.read.parquet(f"{folder}/{what}").repartition(2))
            if (
                number == 0
                and (found := decoded.where("_rescued_data IS NULL AND id IS NOT NULL").count()) != given.rows
            ):
                raise SystemExit(f"{what}: {found} rows instead of {given.rows}")
            started = time.monotonic()
            decoded.write.format("noop").mode("overwrite").save()
            if number >= given.warm_up:
                measured[what].append(time.monotonic() - started)
    return measured


def _results(measured: dict[str, list[float]], rows: int) -> list[dict[str, Any]]:
    base = statistics.median(measured[_JSON])
    return [
        {
            "what": what,
            "seconds": [round(each, 3) for each in seconds],
            "rows_per_second": round(rows / statistics.median(seconds)),
            "goal_rows_per_second": None,
            "ratio": round(statistics.median(seconds) / base, 2),
            "base": _JSON,
            "goal": None,
        }
        for what, seconds in measured.items()
    ]


def _arguments() -> argparse.Namespace:
    parser = parser_of("messages", __doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3, help="rounds that are measured")
    parser.add_argument("--warm-up", type=int, default=1, help="rounds before those, not measured")
    return parse(parser)


if __name__ == "__main__":
    raise SystemExit(main())
