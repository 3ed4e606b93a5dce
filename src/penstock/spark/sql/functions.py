"""The table functions that Spark does not have, by name: a call in, a DataFrame out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from penstock.errors import DefinitionError, StatementPosition
from penstock.spark import _jvm
from penstock.spark.reading.read_handler import ReadHandler
from penstock.spark.reading.stream_answers import answer_load, answer_table
from penstock.spark.sources.auto_loader import load_files, only_format_of
from penstock.spark.sources.auto_loader.options import names as option_names
from penstock.spark.sources.formats import source_of
from penstock.spark.sources.stream_read import StreamRead
from penstock.spark.sql.arguments import Argument, Arguments

_CLOUD_FILES: Final = "cloud_files('path/of/the/files', 'json')"
_READ_FILES: Final = "read_files('path/of/the/files', format => 'json')"
_READ_KAFKA: Final = "read_kafka(bootstrapServers => 'host:9092', subscribe => 'topic')"
_READ_STREAM: Final = "STREAM read_stream('table', skipChangeCommits => true)"

# Of each file format.
_OF_ANY_FORMAT: Final = (
    "basePath",
    "ignoreCorruptFiles",
    "ignoreMissingFiles",
    "mergeSchema",
    "modifiedAfter",
    "modifiedBefore",
    "pathGlobFilter",
    "recursiveFileLookup",
)

# As in Spark's readers, an option of another one of them changes nothing: `inferSchema` of JSON is common.
_TEXT_FORMATS: Final = ("csv", "json", "text", "xml")

_SERVERS: Final = "kafka.bootstrap.servers"
# Databricks' name for the servers, and the options that only a batch has.
_BESIDE_KAFKAS: Final = ("bootstrapServers", "endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp")

# Those of Delta's streaming source.
_OF_DELTA: Final = (
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

_EVENTS = "Read the events with 'penstock events', or with 'penstock sql' from the view event_log"
_UNSUPPORTED: Final[Mapping[str, tuple[str, str]]] = {
    "read_pubsub": (
        "there is no open source connector for Pub/Sub on this version of Spark",
        "Let a Pub/Sub subscription write files to Cloud Storage and read them with STREAM read_files(…)",
    ),
    "read_pulsar": (
        "there is no open source connector for Pulsar on this version of Spark",
        "Use Pulsar's Kafka protocol handler (KoP) and STREAM read_kafka(…)",
    ),
    "cloud_files_state": (
        "a pipeline does not read its own checkpoints",
        "Ask 'penstock sql' for cloud_files_state(TABLE(name)), or select _metadata.file_path into the table",
    ),
    "event_log": ("a pipeline does not read its own event log", _EVENTS),
}
"""Functions of Databricks that this version refuses: the reason, and what to write instead."""


@dataclass(frozen=True, slots=True)
class TableFunctionCall:
    """One call: `streaming` is the STREAM before it, `source_name` the IDENTIFIED BY behind it.

    `reads` answers what the call reads.
    """

    reads: ReadHandler
    spark: SparkSession
    name: str
    statement: str
    offset: int
    streaming: bool
    source_name: str | None
    arguments: tuple[Argument, ...]

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

    def load(self, reader: DataStreamReader, path: str | None = None) -> DataFrame:
        """Returns the stream that a reader stands for, as the pipeline answers it."""
        return answer_load(self.reads, self.spark, reader, path)

    def missing(self, argument: str, example: str) -> DefinitionError:
        """Returns TABLE_FUNCTION_ARGUMENT_MISSING, at the place of the call."""
        error = DefinitionError(
            "TABLE_FUNCTION_ARGUMENT_MISSING", function=self.name, argument=argument, example=example
        )
        return error.at(self.position)

    def unsupported(self, reason: str, alternative: str) -> DefinitionError:
        """Returns UNSUPPORTED_TABLE_FUNCTION, at the place of the call."""
        error = DefinitionError("UNSUPPORTED_TABLE_FUNCTION", name=self.name, reason=reason, alternative=alternative)
        return error.at(self.position)

    @property
    def position(self) -> StatementPosition:
        """Where the call is."""
        return StatementPosition.of(self.statement, self.offset)


TableFunction = Callable[[TableFunctionCall], DataFrame]
"""Called each time a statement that contains the function runs, while no read handler is in force."""


def _cloud_files(call: TableFunctionCall) -> DataFrame:
    """`cloud_files(path, format, map(…))`: Auto Loader in the SQL of older pipelines, with or without STREAM before it.

    The options are those of `format("cloudFiles")`; `'schema'` among them is the schema, as DDL.
    """
    arguments = call.bind("path", "format", "options")
    path = arguments.required("path", _CLOUD_FILES)
    source_format = arguments.required("format", _CLOUD_FILES)
    options = arguments.mapping("options")
    arguments.options(known=("path", "format", "options"))
    schema = next((value for name, value in options.items() if name.casefold() == "schema"), None)
    options = {name: value for name, value in options.items() if name.casefold() != "schema"}
    reader = call.stream_reader().format("cloudFiles").option("cloudFiles.format", source_format).options(**options)
    return call.load(reader if schema is None else reader.schema(schema), path)


def _read_files(call: TableFunctionCall) -> DataFrame:
    """`read_files(path, format => …)`: the files that are there now; with STREAM, Auto Loader.

    The options are those of Auto Loader, without their prefix, and of Spark's reader of the format. Types are
    inferred, and what does not fit goes to `_rescued_data`, in both. Without `format`, the names of the files imply it.
    """
    arguments = call.bind("path")
    path = arguments.required("path", _READ_FILES)
    schema = arguments.text("schema")
    chosen = arguments.choice("format", option_names.FORMATS)
    where = path if call.streaming else call.reads.path(path, batch=True)
    source_format = chosen or _format_of(call, where)
    auto_loader = {
        name.removeprefix(option_names.PREFIX): name
        for name in (*option_names.SUPPORTED, *option_names.WITHOUT_EFFECT, *option_names.REFUSED)
        if name.startswith(option_names.PREFIX)
    }
    known = {*auto_loader, *auto_loader.values(), *option_names.REFUSED, *_OF_ANY_FORMAT}
    given = arguments.options(known | _reader_options(call.spark, source_format))
    options = {"cloudFiles.format": source_format, "cloudFiles.inferColumnTypes": "true"}
    options |= {auto_loader.get(name, name): value for name, value in given.items()}
    if call.streaming:
        reader = call.stream_reader().format("cloudFiles").options(**options)
        return call.load(reader if schema is None else reader.schema(schema), path)
    return load_files(call.spark, StreamRead("cloudFiles", options, schema, where))


@lru_cache(maxsize=32)
def _reader_options(spark: SparkSession, source_format: str) -> frozenset[str]:
    return frozenset().union(*(_jvm.reader_options(spark, each) for each in {source_format, *_TEXT_FORMATS}))


def _format_of(call: TableFunctionCall, path: str) -> str:
    where = call.reads.path(path, batch=True) if call.streaming else path
    found = only_format_of(call.spark, where)
    if found is None:
        raise call.missing("format", _READ_FILES)
    return found


def _read_kafka(call: TableFunctionCall) -> DataFrame:
    """`read_kafka(bootstrapServers => …, subscribe => …)`: a range of each topic, or with STREAM what arrives."""
    declared = source_of("kafka").options or ()
    known = [each for each in declared if not each.refused and not each.name.startswith("kafka.")]
    options = call.bind().options((*_BESIDE_KAFKAS, *(each.name for each in known)), prefix="kafka.")
    servers = options.pop("bootstrapServers", None)
    if servers is not None:
        options.setdefault(_SERVERS, servers)
    if _SERVERS not in options:
        raise call.missing("bootstrapServers", _READ_KAFKA)
    if not any(each.place and each.name in options for each in known):
        raise call.missing("subscribe", _READ_KAFKA)
    if call.streaming:
        return call.load(call.stream_reader().format("kafka").options(**options))
    return call.spark.read.format("kafka").options(**options).load()


def _read_kinesis(call: TableFunctionCall) -> DataFrame:
    """`STREAM read_kinesis(streamName => …)`: records as a stream, under the options of `format("kinesis")`."""
    if not call.streaming:
        reason = "a stream of Kinesis has no end that a batch could read up to"
        raise call.unsupported(reason, "Write STREAM read_kinesis(…)")
    options = call.bind().options(tuple(each.name for each in source_of("kinesis").options or ()))
    return call.load(call.stream_reader().format("kinesis").options(**options))


def _read_stream(call: TableFunctionCall) -> DataFrame:
    """`STREAM read_stream('table', …)`: a dataset of the pipeline, or an existing table, as a stream with options."""
    if not call.streaming:
        way_out = "Write STREAM read_stream(…), or the name of the table for a batch read"
        raise call.unsupported("without STREAM it would be a batch read", way_out)
    arguments = call.bind("table")
    table = arguments.required("table", _READ_STREAM)
    reader = call.stream_reader().options(**arguments.options(_OF_DELTA))
    return answer_table(call.reads, call.spark, reader, table)


def _refuse(reason: str, alternative: str, call: TableFunctionCall) -> DataFrame:
    raise call.unsupported(reason, alternative)


TABLE_FUNCTIONS: Mapping[str, TableFunction] = {
    "cloud_files": _cloud_files,
    "read_files": _read_files,
    "read_kafka": _read_kafka,
    "read_kinesis": _read_kinesis,
    "read_stream": _read_stream,
    **{name: partial(_refuse, reason, alternative) for name, (reason, alternative) in _UNSUPPORTED.items()},
}
"""By the folded name; each raises DefinitionError with the TABLE_FUNCTION_… conditions, and those of its source."""
