"""Messages of Kafka and Event Hubs as columns; no broker is needed for that."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import penstock as ps
from penstock.connectors.event_hubs.connector import event_columns
from penstock.connectors.event_hubs.options import kafka_read
from penstock.errors import DefinitionError
from penstock.spark.reading.hooks import install_read_hooks
from penstock.spark.sources.stream_read import StreamRead

_SCHEMA = "id INT, amount DOUBLE, inner STRUCT<a: INT>, topic STRING"
_KAFKA = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP"
_TIME = datetime(2026, 1, 31, 12, tzinfo=UTC)


def messages(spark: SparkSession, *values: str | None) -> DataFrame:
    rows = [
        (f"k{n}".encode(), None if value is None else value.encode(), "orders", 3, 10 + n, _TIME)
        for n, value in enumerate(values)
    ]
    return spark.createDataFrame(rows, _KAFKA)


def rescued(row: Any) -> Any:
    return None if row["_rescued_data"] is None else json.loads(row["_rescued_data"])


def test_fields_become_columns_and_what_has_no_place_is_kept_with_its_origin(spark: SparkSession) -> None:
    texts = (
        '{"id": 1, "amount": 2.5, "inner": {"a": 1}, "topic": "mine"}',
        '{"id": 2, "colour": "red", "offset": 7, "inner": {"a": 2, "b": 3}}',
        '{"id": "three"}',
        "not JSON",
        '{"id": 5} {"id": 6}',
    )
    rows = ps.sources.json_values(messages(spark, *texts), _SCHEMA, keep=["key", "offset"]).orderBy("offset").collect()
    assert [row["id"] for row in rows] == [1, 2, None, None, 5]
    assert rows[0].asDict(recursive=True) == {
        "id": 1, "amount": 2.5, "inner": {"a": 1}, "topic": "mine", "key": bytearray(b"k0"), "offset": 10,
        "_rescued_data": None,
    }  # fmt: skip
    place = {"_topic": "orders", "_partition": 3}
    assert rescued(rows[1]) == {"colour": "red", "offset": 7, "inner": {"a": 2, "b": 3}, **place, "_offset": 11}
    assert rescued(rows[2]) == {"id": "three", **place, "_offset": 12}
    assert rescued(rows[3]) == {"_corrupt_record": "not JSON", **place, "_offset": 13}
    assert rescued(rows[4]) == {"_corrupt_record": texts[4], **place, "_offset": 14}


def test_numbers_of_messages_keep_their_digits(spark: SparkSession) -> None:
    text = '{"a": 12345678.90, "d": 0.1234567890123456789, "s": {"t": 1e400}, "new": [1.10, 1e400]}'
    schema = "a STRING, d DECIMAL(38,9), s STRUCT<t: STRING>"
    row = ps.sources.json_values(messages(spark, text), schema).collect()[0]
    assert (row["a"], str(row["d"]), row["s"]["t"]) == ("12345678.90", "0.123456789", "1e400")
    assert row["_rescued_data"].startswith('{"d":0.1234567890123456789,"new":[1.10,1e400],"_topic"')


def test_a_message_without_a_value_is_a_row(spark: SparkSession) -> None:
    rows = ps.sources.json_values(messages(spark, None, " ", "{}"), _SCHEMA, keep=["key"]).collect()
    assert sorted(bytes(row["key"]) for row in rows) == [b"k0", b"k1", b"k2"]
    assert {(row["id"], row["_rescued_data"]) for row in rows} == {(None, None)}


def test_other_names_and_other_columns(spark: SparkSession) -> None:
    frame = messages(spark, '{"n": 1, "x": 2}').selectExpr("value AS body", "'a' AS note")
    [row] = ps.sources.json_values(frame, "n INT", column="body", rescued_data_column="rest").collect()
    assert row.asDict() == {"n": 1, "rest": '{"x":2}'}
    with pytest.raises(DefinitionError, match="INVALID_PARAMETER"):
        ps.sources.json_values(messages(spark, "{}"), _SCHEMA, keep=["Topic"])


def test_events_have_the_columns_of_the_connector(spark: SparkSession) -> None:
    entries = "('a', CAST('1' AS BINARY)), ('a', CAST('2' AS BINARY)), ('b', CAST(NULL AS BINARY))"
    headers = f"CAST(array({entries}) AS ARRAY<STRUCT<key: STRING, value: BINARY>>)"
    records = messages(spark, "one").selectExpr("*", f"{headers} AS headers")
    records = records.union(messages(spark, "two").selectExpr("*", f"filter({headers}, h -> false)"))
    records = records.union(messages(spark, "three").selectExpr("*", f"IF(offset < 0, {headers}, NULL)"))
    events = event_columns(records)
    assert dict(events.dtypes) == {
        "body": "binary", "partition": "string", "offset": "string", "sequenceNumber": "bigint",
        "enqueuedTime": "timestamp", "publisher": "string", "partitionKey": "string",
        "properties": "map<string,string>", "systemProperties": "map<string,string>",
    }  # fmt: skip
    found = {bytes(row["body"]): row for row in events.collect()}
    one = found[b"one"]
    assert (one["partition"], one["offset"], one["sequenceNumber"], one["partitionKey"]) == ("3", "10", 10, "k0")
    assert (one["publisher"], one["systemProperties"]) == (None, {})
    assert one["properties"] == {"a": "2", "b": None}
    assert found[b"two"]["properties"] == found[b"three"]["properties"] == {}


def test_no_plan_shows_a_password(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    install_read_hooks()
    text = "Endpoint=sb://127.0.0.1/;SharedAccessKeyName=n;SharedAccessKey=canary-key=;EntityPath=orders"
    read = kafka_read(StreamRead("eventhubs", {"eventhubs.connectionString": text}))
    quoted = 'x required username="u" password="canary with, blanks; and more";'
    for options in (read.options, {**read.options, "kafka.sasl.jaas.config": quoted}):
        event_columns(spark.readStream.format("kafka").options(**options).name("orders").load()).explain(True)
    said = capsys.readouterr().out
    assert "orders" in said
    assert "canary" not in said
