"""Plain streams of files: the options they get, and paths that Spark takes as glob patterns."""

from __future__ import annotations

import re
from typing import Final

from pyspark.sql import SparkSession

from penstock.errors import DefinitionError
from penstock.spark import _jvm
from penstock.spark.sources.stream_read import StreamRead

NEVER_TOO_OLD: Final = "36500d"
"""A `maxFileAge` under which no file is left out."""

_PATTERN: Final = re.compile(r"([\\*?{}\[\]])")

FILE_FORMATS: Final = frozenset({"avro", "binaryfile", "csv", "json", "orc", "parquet", "text", "xml"})


def only_reading(source_format: str) -> dict[str, str]:
    """Returns the options with which a stream leaves its source as it is: Spark may archive or delete what was read."""
    return {"cleanSource": "off"} if source_format.casefold() in FILE_FORMATS else {}


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
