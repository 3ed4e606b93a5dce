"""Messages in JSON as columns, parsed as Auto Loader parses a line; and what rescued data say of a message's place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from penstock.graph.sql.names import literal
from penstock.spark.sources.auto_loader.formats.json_records import json_rows
from penstock.spark.sources.auto_loader.options.read_options import parse_options
from penstock.spark.sources.auto_loader.schema.log import SchemaVersion
from penstock.spark.sources.auto_loader.schema.sql_text import column
from penstock.spark.sources.stream_read import StreamRead

_MESSAGE: Final = "__penstock_message"
_BLANK: Final = "__penstock_blank"

_PLACE: Final = {
    "_topic": ("topic",),
    "_stream": ("stream",),
    "_shard": ("shardId",),
    "_partition": ("partition",),
    "_offset": ("offset", "sequenceNumber"),
}


def json_columns(
    messages: DataFrame,
    schema: StructType,
    *,
    column_of_json: str,
    keep: Sequence[str],
    rescued_data_column: str,
    options: Mapping[str, str],
) -> DataFrame:
    """Returns the columns of `schema`, those to `keep`, and the rescued data: one row for each message.

    `options` are those of Spark's JSON reader. A message without a value, or with a blank one, is a row of NULLs.

    Raises:
        AnalysisException: there is no such column.
    """
    given = {"cloudFiles.format": "json", "cloudFiles.schemaEvolutionMode": "rescue", **options}
    read = StreamRead("cloudFiles", {**given, "rescuedDataColumn": rescued_data_column}, schema=schema, path="messages")
    text = f"CAST({column(column_of_json)} AS STRING)"
    carried = [column(name) for name in messages.columns if name != column_of_json]
    blank = f"({text} IS NULL OR trim({text}) = '') AS {_BLANK}"
    lines = messages.selectExpr(f"struct({', '.join([*carried, blank])}) AS {_MESSAGE}", f"{text} AS value")
    # The message goes through as a partition column of a file does.
    version = SchemaVersion(0, schema, StructType([StructField(_MESSAGE, lines.schema[_MESSAGE].dataType)]), "given")
    rows = json_rows(
        lines,
        version,
        parse_options(read),
        column_of_json,
        origin=message_place(messages.columns, _MESSAGE),
        keep_blank=True,
    )
    rescued = column(rescued_data_column)
    return rows.selectExpr(
        *(column(name) for name in schema.fieldNames()),
        *(f"{_MESSAGE}.{column(name)}" for name in keep),
        f"IF({_MESSAGE}.{_BLANK}, NULL, {rescued}) AS {rescued}",
    )


def message_place(columns: Sequence[str], inside: str | None = None) -> str | None:
    """Returns SQL for the struct that says where a message is from; None when none of its `columns` does.

    `inside` names the struct that has the columns.
    """
    fields = []
    for field, names in _PLACE.items():
        if (found := next((name for name in names if name in columns), None)) is not None:
            fields.append(f"{literal(field)}, {column(*([inside] if inside else []), found)}")
    return f"named_struct({', '.join(fields)})" if fields else None
