"""Spark's own stream of files: what it leaves out unless it is told not to."""

from __future__ import annotations

from typing import Final

from penstock.spark.sources.stream_read import StreamRead

NEVER_TOO_OLD: Final = "36500d"
"""A `maxFileAge` under which no file is left out."""

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
