"""Reads of outside sources that take more than a format and options: `penstock.sources`.

import penstock as ps

@ps.table
def orders():
    events = ps.sources.event_hubs("orders_hub", "orders")
    return ps.sources.json_values(events, "id BIGINT, amount DOUBLE", column="body")
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from penstock.declare.parameters import describe
from penstock.declare.reads import active_session
from penstock.errors import DefinitionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["avro_values", "event_hubs", "json_values", "protobuf_values"]

_OFFSETS = {"earliest": "-1", "latest": "@latest"}


def event_hubs(
    connection_string_secret: str,
    hub: str | None = None,
    *,
    starting_position: str | datetime = "latest",
    consumer_group: str | None = None,
    max_events_per_trigger: int | None = None,
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Returns the events of an event hub as a stream, over its Kafka endpoint.

    The columns are those of the Event Hubs connector; docs/how-to/event-hubs.md says which of them Kafka does not have.

    Args:
        connection_string_secret: The entry of `secrets` that has the connection string; never the string itself.
        hub: The event hub; default: the `EntityPath` of the connection string.
        starting_position: `earliest`, `latest`, or a time: a datetime, or a text such as 2026-01-31T12:00:00Z. Counts
            for the first run; later ones go on where it ended.
        consumer_group: Begins the names of the groups that Spark makes.
        max_events_per_trigger: The events of a batch at most; default: all that are there.
        options: Further options of `format("eventhubs")`, such as `kafka.request.timeout.ms`.

    Raises:
        DefinitionError: SECRET_NOT_DECLARED, EVENT_HUBS_CONNECTION_STRING_INVALID, EVENT_HUBS_HUB_MISSING,
            EVENT_HUBS_POSITION_INVALID, READ_OUTSIDE_DATASET_FUNCTION while the pipeline's files load.
        ConfigError: SECRET_NOT_FOUND.
    """
    given: dict[str, Any] = {
        "eventhubs.connectionString": f"${{secret:{connection_string_secret}}}",
        "eventhubs.name": hub,
        "eventhubs.startingPosition": _position(starting_position),
        "eventhubs.consumerGroup": consumer_group,
        "eventhubs.maxEventsPerTrigger": max_events_per_trigger,
        **(options or {}),
    }
    session = active_session(hub or connection_string_secret)
    reader = session.readStream.format("eventhubs")
    return reader.options(**{key: str(value) for key, value in given.items() if value is not None}).load()


def json_values(
    messages: DataFrame,
    schema: str | StructType,
    *,
    column: str = "value",
    keep: Sequence[str] = (),
    rescued_data_column: str = "_rescued_data",
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Returns the fields of messages in JSON as columns, one row for each message.

    What finds no place in the schema is kept in the rescued data, as Auto Loader keeps it: fields that the schema does
    not know, values of another type, and whole messages that are no JSON, with the message's place. A message
    without a value, as Kafka's deletions are, is a row of NULLs: `keep` its key.

    Args:
        messages: What a read of Kafka, Event Hubs or Kinesis returns, streaming or not.
        schema: The columns, as DDL or a StructType.
        column: Which column holds the JSON, as text or bytes; `body` of Event Hubs, `data` of Kinesis.
        keep: Columns of the messages to keep, such as `key` and `timestamp`.
        rescued_data_column: The name of the column of rescued data.
        options: Options of Spark's JSON reader, such as `timestampFormat`.

    Raises:
        DefinitionError: INVALID_PARAMETER when a column to keep is one of the schema's too.
    """
    from pyspark.sql.types import StructType

    from penstock.spark.sources.messages import json_columns

    columns = cast("StructType", StructType.fromDDL(schema)) if isinstance(schema, str) else schema
    _different_names("json_values", columns, rescued_data_column, keep)
    return json_columns(
        messages,
        columns,
        column_of_json=column,
        keep=keep,
        rescued_data_column=rescued_data_column,
        options=options or {},
    )


def avro_values(
    messages: DataFrame,
    subject: str | None,
    schema_registry_address: str,
    *,
    schema: str | None = None,
    column: str = "value",
    keep: Sequence[str] = (),
    rescued_data_column: str = "_rescued_data",
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Returns the fields of messages in Avro as columns, one row for each message; needs `penstock[avro]`.

    The messages begin with the id of their schema, as Confluent's serializers write them. Each is resolved, by Avro's
    rules, from the schema that it was written with to the one that is read. What finds no place there is kept in the
    rescued data, a JSON text with topic, partition and offset: fields that only the writer has, and whole messages that
    cannot be decoded, as base64 with the reason. A message without a value is a row of NULLs: `keep` its key.

    Args:
        messages: What a read of Kafka or Event Hubs returns, streaming or not.
        subject: The subject of the registry whose newest schema is read; it is looked up when the flow starts. None
            with `schema`.
        schema_registry_address: The URL of the registry.
        schema: The schema to read, as Avro's JSON text; then `subject` does not count.
        column: Which column holds the messages, as bytes; `body` of Event Hubs.
        keep: Columns of the messages to keep, such as `key` and `timestamp`.
        rescued_data_column: The name of the column of rescued data.
        options: `confluent.schema.registry.basic.auth.user.info`, `USER:${secret:NAME}`;
            `confluent.schema.registry.ssl.truststore.location`, a PEM file with the authority of the registry's
            certificate; `mode`, PERMISSIVE (default), or FAILFAST: an undecodable message fails the flow.

    Raises:
        DefinitionError: INVALID_PARAMETER, SECRET_NOT_DECLARED, SCHEMA_SUBJECT_UNKNOWN, SCHEMA_UNSUPPORTED.
        ConfigError: AVRO_NOT_INSTALLED, SECRET_NOT_FOUND.
        ExternalError: SCHEMA_REGISTRY_UNREACHABLE, SCHEMA_REGISTRY_LOGIN_REFUSED, SCHEMA_REGISTRY_TLS_FAILED,
            SCHEMA_REGISTRY_UNUSABLE.
    """
    from penstock.connectors.schema_registry.avro_messages import avro_decoder
    from penstock.connectors.schema_registry.decoding import decoded_columns
    from penstock.connectors.schema_registry.settings import fails_fast, registry_of
    from penstock.spark.reading.hooks import secret_here

    given = options or {}
    _one_of_two("avro_values", subject, schema=schema)
    registry = registry_of("avro_values", schema_registry_address, given, secret_here)
    decoder, columns = avro_decoder(registry, subject or "", schema)
    _different_names("avro_values", columns, rescued_data_column, keep)
    return decoded_columns(
        messages,
        decoder,
        columns,
        column_of_values=column,
        keep=keep,
        rescued_data_column=rescued_data_column,
        fail_fast=fails_fast("avro_values", given),
    )


def protobuf_values(
    messages: DataFrame,
    subject: str | None,
    schema_registry_address: str,
    *,
    message_name: str | None = None,
    desc_file_path: str | None = None,
    column: str = "value",
    keep: Sequence[str] = (),
    rescued_data_column: str = "_rescued_data",
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Returns the fields of messages in Protobuf as columns, one row for each message.

    The messages begin with the id of their schema and which message of it they are, as Confluent's serializers write
    them. Each is read by the numbers of its fields. What finds no place is kept in the rescued data, as `avro_values`
    keeps it. A message without a value is a row of NULLs: `keep` its key.

    Args:
        messages: What a read of Kafka or Event Hubs returns, streaming or not.
        subject: The subject of the registry whose newest schema is read; it is looked up when the flow starts. None
            with `desc_file_path`.
        schema_registry_address: The URL of the registry; it has to give descriptors (`format=serialized`).
        message_name: The message to read; default: the first one of the schema.
        desc_file_path: A file of descriptors that `protoc --include_imports --descriptor_set_out` wrote, to read
            instead of the subject's; the default of `message_name` is the first message of its last file.
        column: Which column holds the messages, as bytes; `body` of Event Hubs.
        keep: Columns of the messages to keep, such as `key` and `timestamp`.
        rescued_data_column: The name of the column of rescued data.
        options: Those of `avro_values`.

    Raises:
        DefinitionError: INVALID_PARAMETER, SECRET_NOT_DECLARED, SCHEMA_SUBJECT_UNKNOWN, SCHEMA_UNSUPPORTED.
        ConfigError: SECRET_NOT_FOUND.
        ExternalError: SCHEMA_REGISTRY_UNREACHABLE, SCHEMA_REGISTRY_LOGIN_REFUSED, SCHEMA_REGISTRY_TLS_FAILED,
            SCHEMA_REGISTRY_UNUSABLE.
    """
    from penstock.connectors.schema_registry.decoding import decoded_columns
    from penstock.connectors.schema_registry.protobuf_messages import protobuf_decoder
    from penstock.connectors.schema_registry.settings import fails_fast, registry_of
    from penstock.spark.reading.hooks import secret_here

    given = options or {}
    _one_of_two("protobuf_values", subject, desc_file_path=desc_file_path)
    registry = registry_of("protobuf_values", schema_registry_address, given, secret_here)
    decoder, columns = protobuf_decoder(registry, subject or "", message_name, desc_file_path)
    _different_names("protobuf_values", columns, rescued_data_column, keep)
    return decoded_columns(
        messages,
        decoder,
        columns,
        column_of_values=column,
        keep=keep,
        rescued_data_column=rescued_data_column,
        fail_fast=fails_fast("protobuf_values", given),
    )


def _one_of_two(function: str, subject: object, **instead: object) -> None:
    for parameter, value in {"subject": subject, **instead}.items():
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise _invalid(function, parameter, "a non-empty str", describe(value))
    if subject is None and set(instead.values()) == {None}:
        raise _invalid(function, "subject", f"the subject of the schema, or '{next(iter(instead))}'", "None")


def _different_names(function: str, columns: StructType, rescued_data_column: str, keep: Sequence[str]) -> None:
    names = {name.casefold() for name in (*columns.fieldNames(), rescued_data_column)}
    if twice := [name for name in keep if name.casefold() in names]:
        expected = "names that the schema does not have; rename the column first"
        raise _invalid(function, "keep", expected, f"'{twice[0]}'")


def _invalid(function: str, parameter: str, expected: str, got: str) -> DefinitionError:
    return DefinitionError(
        "INVALID_PARAMETER", function=f"sources.{function}", parameter=parameter, expected=expected, got=got
    )


def _position(value: object) -> str:
    if isinstance(value, datetime):
        return json.dumps({"enqueuedTime": value.isoformat()})
    if not isinstance(value, str):
        raise _invalid("event_hubs", "starting_position", "'earliest', 'latest' or a time", describe(value))
    return json.dumps({"offset": _OFFSETS[value]} if value in _OFFSETS else {"enqueuedTime": value})
