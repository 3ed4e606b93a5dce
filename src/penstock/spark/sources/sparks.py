"""Sources that are Spark's own, or known to its session already: a jar's, a data source that a pipeline registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from penstock.spark.sources.files import file_options
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
    """Spark's own stream of files."""

    def stream(self, read: SourceRead) -> DataFrame:
        """Returns the rows of the files as they come, however old a file is."""
        return read.load(read.name, {**read.options, **file_options(read), **read.more_options(read.format)})

    def batch(self, read: SourceRead) -> DataFrame:
        """Returns the rows of the files that are there."""
        reader = read.spark.read.format(read.format).options(**read.options)
        reader = reader if read.schema is None else reader.schema(read.schema)
        return reader.load() if read.path is None else reader.load(read.path)
