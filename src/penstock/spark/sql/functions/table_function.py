"""What a table function of a query is: a call in, a DataFrame out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from penstock.errors import StatementPosition
from penstock.spark.sql.arguments import Argument, Arguments


@dataclass(frozen=True, slots=True)
class TableFunctionCall:
    """One call: `streaming` is the STREAM before it, `source_name` the IDENTIFIED BY behind it.

    `map_path` applies the pipeline's folder and path mapping to the path of a batch read, and notes it as input.
    """

    spark: SparkSession
    name: str
    statement: str
    offset: int
    streaming: bool
    source_name: str | None
    arguments: tuple[Argument, ...]
    map_path: Callable[[str], str]

    def bind(self, *positional: str) -> Arguments:
        """Returns the arguments by name; those without a name take the names `positional`, in order.

        Raises:
            DefinitionError: TABLE_FUNCTION_ARGUMENT_INVALID.
        """
        return Arguments(self.name, self.statement, self.offset, self.arguments, positional)

    def stream_reader(self) -> DataStreamReader:
        """Returns a streaming reader, under the name that the statement gives the source."""
        reader = self.spark.readStream
        return reader if self.source_name is None else reader.name(self.source_name)

    @property
    def position(self) -> StatementPosition:
        """Where the call is."""
        return StatementPosition.of(self.statement, self.offset)


TableFunction = Callable[[TableFunctionCall], DataFrame]
"""Called each time a statement that contains the function runs, while the read hooks are in force."""
