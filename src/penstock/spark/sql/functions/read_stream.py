"""`STREAM read_stream('table', skipChangeCommits => true)`: a table as a stream, with options."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

from penstock.errors import DefinitionError
from penstock.spark.sql.functions.table_function import TableFunctionCall

# Those of Delta's streaming source.
_OPTIONS: Final = (
    "allowSourceColumnDrop",
    "allowSourceColumnRename",
    "allowSourceColumnTypeChange",
    "excludeRegex",
    "failOnDataLoss",
    "ignoreChanges",
    "ignoreDeletes",
    "ignoreFileDeletion",
    "maxBytesPerTrigger",
    "maxFilesPerTrigger",
    "readChangeData",
    "readChangeFeed",
    "schemaTrackingLocation",
    "skipChangeCommits",
    "startingTimestamp",
    "startingVersion",
)


def read_stream(call: TableFunctionCall) -> DataFrame:
    """Streams a dataset of the pipeline or an existing table.

    Raises:
        DefinitionError: the TABLE_FUNCTION_… conditions; UNSUPPORTED_TABLE_FUNCTION without STREAM before it.
    """
    if not call.streaming:
        raise DefinitionError(
            "UNSUPPORTED_TABLE_FUNCTION",
            name=call.name,
            reason="without STREAM it would be a batch read",
            alternative="Write STREAM read_stream(…), or the name of the table for a batch read",
        ).at(call.position)
    arguments = call.bind("table")
    table = arguments.required("table", "STREAM read_stream('table', skipChangeCommits => true)")
    return call.stream_reader().options(**arguments.options(_OPTIONS)).table(table)
