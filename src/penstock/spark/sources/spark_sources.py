"""Sources that are Spark's own, files among them, or known to its session: a jar's, one that a pipeline registers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import DefinitionError
from penstock.spark import _jvm
from penstock.spark.accelerators.accelerator import READ_FILES_LOG
from penstock.spark.accelerators.own_classes import ARRIVING_FILES
from penstock.spark.sources.option import Option
from penstock.spark.sources.source import SourceRead
from penstock.spark.sources.stream_read import StreamRead, native_load

NEVER_TOO_OLD: Final = "36500d"
"""A `maxFileAge` under which no file is left out."""

_PATTERN: Final = re.compile(r"([\\*?{}\[\]])")

FILE_FORMATS: Final = frozenset({"avro", "binaryfile", "csv", "json", "orc", "parquet", "text", "xml"})


@dataclass(frozen=True, slots=True)
class SparkSource:
    """Leaves the read to Spark, whose matter its options are."""

    replayable: bool = True
    options: Sequence[Option] | None = None

    def stream(self, read: SourceRead) -> DataFrame:
        """Returns the stream as the author asked for it."""
        return read.load(read.name, {**read.options, **read.more_options(read.format)})


class FileSource(SparkSource):
    """Spark's own stream of files, in Penstock's variant where the session has it.

    Spark lists each batch's files again; one whose name holds a glob character then adds all files of the batch once
    more. The variant reads each file once.
    """

    def stream(self, read: SourceRead) -> DataFrame:
        """Returns the rows of the files as they come, however old a file is.

        Raises:
            DefinitionError: PATH_READ_AS_PATTERN.
        """
        check_path_is_found(read.spark, read.path or read.option("path"))
        options = {**read.options, **file_options(read), **read.more_options(read.format)}
        if not _jvm.has_format(read.spark, ARRIVING_FILES):
            return read.load(read.name, options)
        own = {**options, **arriving_files_options(read.format)}
        return native_load(read.spark, ARRIVING_FILES, own, read.schema, read.path, source_name=read.name)

    def batch(self, read: SourceRead) -> DataFrame:
        """Returns the rows of the files that are there."""
        reader = read.spark.read.format(read.format).options(**read.options)
        reader = reader if read.schema is None else reader.schema(read.schema)
        return reader.load() if read.path is None else reader.load(read.path)


def only_reading(source_format: str) -> dict[str, str]:
    """Returns the options with which a stream leaves its source as it is: Spark may archive or delete what was read."""
    return {"cleanSource": "off"} if source_format.casefold() in FILE_FORMATS else {}


def arriving_files_options(source_format: str) -> dict[str, str]:
    """Returns the options of Penstock's variant of Spark's file source that every stream of files gets."""
    log = {} if READ_FILES_LOG.applies() else {"penstock.sparkLog": "true"}
    return {"penstock.format": source_format, **log}


def file_options(read: StreamRead) -> dict[str, str]:
    """Returns the options that a stream of files gets besides the user's; none for other sources.

    Spark leaves out, without a word, files that are a week older than the newest one: after a single file with a time
    to come, such as a machine with a wrong clock gives it, that is every file.
    """
    if read.format.casefold() not in FILE_FORMATS or read.option("maxFileAge") is not None:
        return {}
    return {"maxFileAge": NEVER_TOO_OLD}


def check_path_is_found(spark: SparkSession, path: str | None) -> None:
    """Checks a path with glob characters, which is a pattern to Spark even where a folder has that name.

    Raises:
        DefinitionError: PATH_READ_AS_PATTERN, the folder exists and the pattern matches nothing.
    """
    if path is None or not _PATTERN.search(path) or _jvm.matches_files(spark, path):
        return
    if _jvm.path_exists(spark, path):
        raise DefinitionError("PATH_READ_AS_PATTERN", path=path, escaped=literal_path(path))


def literal_path(path: str) -> str:
    """Returns `path` so that Spark's readers take it literally, although it may hold glob characters."""
    return _PATTERN.sub(r"\\\1", path)
