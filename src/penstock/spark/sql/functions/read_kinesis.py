"""`STREAM read_kinesis(streamName => …)`: records of Kinesis as a stream."""

from __future__ import annotations

from pyspark.sql import DataFrame

from penstock.errors import DefinitionError
from penstock.spark.sources.formats import source_of
from penstock.spark.sql.functions.table_function import TableFunctionCall


def read_kinesis(call: TableFunctionCall) -> DataFrame:
    """Streams records; the options and columns are those of `format("kinesis")`.

    Raises:
        DefinitionError: the TABLE_FUNCTION_… and KINESIS_… conditions; UNSUPPORTED_TABLE_FUNCTION without STREAM
            before it.
    """
    if not call.streaming:
        raise DefinitionError(
            "UNSUPPORTED_TABLE_FUNCTION",
            name=call.name,
            reason="a stream of Kinesis has no end that a batch could read up to",
            alternative="Write STREAM read_kinesis(…)",
        ).at(call.position)
    options = call.bind().options(tuple(each.name for each in source_of("kinesis").options or ()))
    return call.stream_reader().format("kinesis").options(**options).load()
