"""The seam of sources: what a connector is asked for when a pipeline or a script reads its format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from penstock.errors import DefinitionError
from penstock.spark.sources.option import Option, check_options, with_defaults
from penstock.spark.sources.stream_read import Load, StreamRead, native_load

_REGISTERED = "_penstock_data_sources"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRead(StreamRead):
    """One read of a connector's format, ready to be answered.

    `options` are checked and have their defaults, under the names that the connector gives them, with secrets filled
    in: never show or log them. `name` is the source's name in the checkpoint.

    `load` is Spark's own answer, `more_options(format)` what a source of Spark's needs beside the author's
    options. `description` is what a person calls the source.
    `schemas` is where a connector may keep what it has found out about the columns, as Auto Loader does; without
    `persist` nothing is to be written. `checkpoint` is that of the flow, None when it does not run. `place` says where
    a path of the author's leads. `opened` is called with a source that takes in new columns by itself.
    """

    spark: SparkSession = field(repr=False)
    options: Mapping[str, str] = field(repr=False)
    load: Load = field(repr=False)
    more_options: Callable[[str], Mapping[str, str]] = field(default=lambda _: {}, repr=False)
    description: str = ""
    schemas: str = ""
    persist: bool = False
    checkpoint: str | None = None
    place: Callable[[str], str] = field(default=lambda path: path, repr=False)
    opened: Callable[[Any], None] = field(default=lambda _: None, repr=False)

    def stream(
        self,
        source_format: str | None = None,
        options: Mapping[str, str] | None = None,
        *,
        schema: StructType | str | None = None,
    ) -> DataFrame:
        """Returns the stream of Spark's own reader under the source's name.

        Args:
            source_format: The format to read; default: the one that was asked for.
            options: With which options; default: those of the read.
            schema: The columns; default: what the source itself says.
        """
        given = self.options if options is None else options
        name = self.name or self.format
        return native_load(self.spark, source_format or self.format, given, schema, None, source_name=name)

    def register(self, data_source: type[DataSource]) -> None:
        """Makes a data source in Python known to the session, once: Spark warns of a second time."""
        known: set[type[DataSource]] = self.spark.__dict__.setdefault(_REGISTERED, set())
        if data_source not in known:
            self.spark.dataSource.register(data_source)
            known.add(data_source)


class Source(Protocol):
    """How a format is read. An object without state: it is asked for each read of each flow, from any thread."""

    @property
    def options(self) -> Sequence[Option] | None:
        """The options that there are; None leaves them to `stream` to check."""

    @property
    def replayable(self) -> bool:
        """Whether a batch that failed is read again with exactly the same rows; else a crash loses some."""

    def stream(self, read: SourceRead) -> DataFrame:
        """Returns the stream; called each time a dataset function reads, and to find its columns: read no rows here.

        Raises:
            PenstockError: what is wrong with the read.
        """


@runtime_checkable
class ReadsBatch(Protocol):
    """A `Source` that can also give, as a batch, all that a stream would give: for `penstock run --batch`."""

    def batch(self, read: SourceRead) -> DataFrame:
        """Returns all rows that there are now."""


@runtime_checkable
class ChecksAccess(Protocol):
    """A `Source` that can report within seconds that it is away, or that a login is refused."""

    def check(self, read: SourceRead) -> None:
        """Called before each start of a flow that reads it; returns when all is well.

        Raises:
            PenstockError: what is wrong; a `ConnectorError` of a third party's connector.
        """


def checked(source: Source, read: SourceRead) -> SourceRead:
    """Returns the read with its options as the connector wants them.

    Raises:
        DefinitionError: SOURCE_OPTION_UNKNOWN, SOURCE_OPTION_REFUSED, SOURCE_OPTION_INVALID.
    """
    if source.options is None:
        return read
    given = dict(read.options)
    if read.path is not None and any(option.name.casefold() == "path" for option in source.options):
        given = {**{key: value for key, value in given.items() if key.casefold() != "path"}, "path": read.path}
    check_options(read.format, source.options, given)
    return replace(read, options=with_defaults(source.options, given))


def read_batch(source: Source, read: SourceRead) -> DataFrame:
    """Returns as a batch what the streaming `read` would deliver up to now.

    Raises:
        DefinitionError: BATCH_NOT_POSSIBLE; those of the connector.
        AnalysisException: Spark's own.
    """
    if not isinstance(source, ReadsBatch):
        raise not_possible(f"{read.description} is a '{read.format}' source, which only streams", _OTHER_SOURCE)
    return source.batch(read)


def not_possible(reason: str, way_out: str) -> DefinitionError:
    """Returns BATCH_NOT_POSSIBLE; whoever called the function that reads so adds its dataset and place."""
    return DefinitionError("BATCH_NOT_POSSIBLE", reason=reason, way_out=way_out)


_OTHER_SOURCE = "Read files, a table or Kafka"
