"""What a user's read asks for, before it is decided who serves it; and Spark's own answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

Load = Callable[[str | None, Mapping[str, str]], DataFrame]
"""A streaming read under a source name (None: without one), with options beside those of the author."""

NAMED_SOURCES: Final = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
"""Spark's setting under which each source of a query has a name; without it none may have one."""

_LIMITS: Final = {
    *("maxoffsetspertrigger", "minoffsetspertrigger", "minpartitions", "maxrecordsperpartition"),
    *("maxfilespertrigger", "maxbytespertrigger"),
}


def no_stream(name: str | None, more_options: Mapping[str, str]) -> DataFrame:
    """The `Load` of a batch read, which no connector asks for."""
    raise AssertionError(name)


@dataclass(frozen=True, slots=True)
class StreamRead:
    """One `spark.readStream…load()`, or a `spark.read…load()` of a connector's format.

    `options` keep the user's spelling; `option()` looks them up without regard to case, as Spark does.
    `path` is where the data really is (path mapping applied), None for sources without one.
    `name` is the source's name, when the user chose one.
    """

    format: str
    options: Mapping[str, str]
    schema: StructType | str | None = None
    path: str | None = None
    name: str | None = None

    def option(self, key: str, default: str | None = None) -> str | None:
        """Returns the value of an option, its key compared without regard to case."""
        folded = key.casefold()
        return next((value for name, value in self.options.items() if name.casefold() == folded), default)

    @property
    def limits(self) -> tuple[tuple[str, str], ...]:
        """The options that bound how much a batch reads, or say in how many tasks: none of them holds a secret."""
        known = {name: str(value) for name, value in self.options.items()}
        return tuple(
            (name, value)
            for name, value in known.items()
            if name.casefold().removeprefix("cloudfiles.") in _LIMITS and value.isascii() and value.isalnum()
        )


def native_load(
    spark: SparkSession,
    source_format: str,
    options: Mapping[str, str],
    schema: StructType | str | None,
    path: str | None,
    *,
    source_name: str | None,
) -> DataFrame:
    """Returns Spark's own streaming read, under a source name where there is one and the checkpoints keep names.

    Raises:
        pyspark.errors.AnalysisException: Spark's, for example PATH_NOT_FOUND.
    """
    reader = spark.readStream.format(source_format).options(**options)
    if source_name is not None and spark.conf.get(NAMED_SOURCES) == "true":
        reader = reader.name(source_name)
    if schema is not None:
        reader = reader.schema(schema)
    return reader.load() if path is None else reader.load(path)
