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

__all__ = ["event_hubs", "json_values"]

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
    not know, values of another type, and whole messages that are no JSON, with topic, partition and offset. A message
    without a value, as Kafka's deletions are, is a row of NULLs: `keep` its key.

    Args:
        messages: What a read of Kafka or Event Hubs returns, streaming or not.
        schema: The columns, as DDL or a StructType.
        column: Which column holds the JSON, as text or bytes; `body` of Event Hubs.
        keep: Columns of the messages to keep, such as `key` and `timestamp`.
        rescued_data_column: The name of the column of rescued data.
        options: Options of Spark's JSON reader, such as `timestampFormat`.

    Raises:
        DefinitionError: INVALID_PARAMETER when a column to keep is one of the schema's too.
    """
    from pyspark.sql.types import StructType

    from penstock.spark.sources.json_values import json_columns

    columns = cast("StructType", StructType.fromDDL(schema)) if isinstance(schema, str) else schema
    names = {name.casefold() for name in (*columns.fieldNames(), rescued_data_column)}
    if twice := [name for name in keep if name.casefold() in names]:
        raise DefinitionError(
            "INVALID_PARAMETER",
            function="sources.json_values",
            parameter="keep",
            expected="names that the schema does not have; rename the column first",
            got=f"'{twice[0]}'",
        )
    return json_columns(
        messages,
        columns,
        column_of_json=column,
        keep=keep,
        rescued_data_column=rescued_data_column,
        options=options or {},
    )


def _position(told: object) -> str:
    if isinstance(told, datetime):
        return json.dumps({"enqueuedTime": told.isoformat()})
    if not isinstance(told, str):
        raise DefinitionError(
            "INVALID_PARAMETER",
            function="sources.event_hubs",
            parameter="starting_position",
            expected="'earliest', 'latest' or a time",
            got=describe(told),
        )
    return json.dumps({"offset": _OFFSETS[told]} if told in _OFFSETS else {"enqueuedTime": told})
