"""Sources that are Spark's own, or known to its session already: a jar's, a data source that a pipeline registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from penstock.spark import _jvm
from penstock.spark.accelerators.own_classes import ARRIVING_FILES
from penstock.spark.sources.files import check_path_is_found, file_options
from penstock.spark.sources.native import native_load
from penstock.spark.sources.option import Option
from penstock.spark.sources.source import SourceRead


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
        own = {**options, "penstock.format": read.format}
        return native_load(read.spark, ARRIVING_FILES, own, read.schema, read.path, source_name=read.name)

    def batch(self, read: SourceRead) -> DataFrame:
        """Returns the rows of the files that are there."""
        reader = read.spark.read.format(read.format).options(**read.options)
        reader = reader if read.schema is None else reader.schema(read.schema)
        return reader.load() if read.path is None else reader.load(read.path)
