"""What a streaming read means in a run as one batch: all that its source has now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import DefinitionError
from penstock.spark.sources.auto_loader import load_files
from penstock.spark.sources.stream_read import StreamRead

_FILES: Final = frozenset({"avro", "binaryfile", "csv", "json", "orc", "parquet", "text", "xml"})
_CHANGE_FEED: Final = frozenset({"readchangefeed", "readchangedata"})
_START: Final = frozenset({"startingversion", "startingtimestamp"})
_KAFKA_START: Final = frozenset({"startingoffsets", "startingoffsetsbytimestamp", "startingtimestamp"})


def read_whole(spark: SparkSession, read: StreamRead, description: str) -> DataFrame:
    """Returns as a batch what the streaming `read` would deliver up to now; `description` is the source to a person.

    The caller suspends its read handler (`handling_reads(None)`).

    Raises:
        DefinitionError: BATCH_NOT_POSSIBLE; those of Auto Loader.
        AnalysisException: Spark's own.
    """
    options: Mapping[str, str] = read.options
    match read.format.casefold():
        case "cloudfiles":
            if (read.option("cloudFiles.includeExistingFiles") or "true").casefold() == "false":
                raise not_possible(f"{description} is read without the files that are there", _ALL_FILES)
            return load_files(spark, read)
        case "table":
            return spark.read.options(**delta_options(read.options, description)).table(str(read.path))
        case "delta":
            options = delta_options(read.options, description)
        case "kafka":
            options = _kafka_options(read.options)
        case known if known in _FILES:
            pass
        case _:
            raise not_possible(f"{description} is a '{read.format}' source, which only streams", _OTHER_SOURCE)
    reader = spark.read.format(read.format).options(**options)
    if read.schema is not None:
        reader = reader.schema(read.schema)
    return reader.load() if read.path is None else reader.load(read.path)


def delta_options(options: Mapping[str, str], description: str, *, computed: bool = False) -> dict[str, str]:
    """Returns with which options a batch reads what a stream would read of a Delta table.

    The stream's own, such as limits of a batch and what becomes of rewritten rows, say nothing about the rows that
    are there. `computed` tells that the batch computes the table itself.

    Raises:
        DefinitionError: BATCH_NOT_POSSIBLE.
    """
    given = {key.casefold(): value for key, value in options.items()}
    starts = _START & given.keys()
    if any(given.get(name, "").casefold() == "true" for name in _CHANGE_FEED):
        if computed:
            raise not_possible(f"the changes of {description} are read, and a batch computes it at once", _NO_CHANGES)
        if not starts or given.get("startingversion", "").casefold() == "latest":
            raise not_possible(f"the changes of {description} are read, from no version that is named", _FROM_A_VERSION)
        return {"readChangeFeed": "true", **{name: given[name] for name in starts}}
    if starts:
        raise not_possible(f"{description} is read from a version or time on, and a batch reads all of it", _WHOLE)
    return {}


def _kafka_options(options: Mapping[str, str]) -> dict[str, str]:
    """A stream that starts at the latest offsets has read nothing yet: the batch begins with the first that is kept."""
    found = dict(options)
    for key, value in options.items():
        if key.casefold() == "startingoffsets" and value.strip().casefold() == "latest":
            del found[key]
    if not _KAFKA_START & {key.casefold() for key in found}:
        found["startingOffsets"] = "earliest"
    return found


def not_possible(reason: str, way_out: str) -> DefinitionError:
    """Returns BATCH_NOT_POSSIBLE; whoever called the function that reads so adds its dataset and place."""
    return DefinitionError("BATCH_NOT_POSSIBLE", reason=reason, way_out=way_out)


_ALL_FILES: Final = "Remove cloudFiles.includeExistingFiles"
_FROM_A_VERSION: Final = "Set startingVersion to a number"
_NO_CHANGES: Final = "Read its rows instead"
_OTHER_SOURCE: Final = "Read files, a table or Kafka"
_WHOLE: Final = "Remove startingVersion and startingTimestamp"
