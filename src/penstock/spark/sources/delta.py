"""How tables are read: `format("delta")`, and tables of Spark's catalog by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import DataFrame

from penstock.spark.sources.option import Option, check_options, refused, taken
from penstock.spark.sources.source import SourceRead, not_possible
from penstock.spark.sources.spark_sources import SparkSource

_CHANGE_FEED: Final = frozenset({"readchangefeed", "readchangedata"})
_START: Final = frozenset({"startingversion", "startingtimestamp"})
_FROM_A_VERSION: Final = "Set startingVersion to a number"
_NO_CHANGES: Final = "Read its rows instead"
_WHOLE: Final = "Remove startingVersion and startingTimestamp"

_A_STREAM: Final = "a stream reads what comes"
_ENDLESS: Final = "a stream has no end"
_A_VERSION: Final = "Read a version with spark.read, or begin a stream with 'startingVersion'"
_NO_END: Final = "Remove it; 'penstock run --batch' reads what is there now"
_IN_ORDER: Final = "Set 'startingVersion' to 0, with which the commits are read one after the other"

_REWRITES: Final = ("ignoreChanges", "ignoreDeletes", "skipChangeCommits")

OPTIONS: Final = (
    Option("maxFilesPerTrigger", type="number"),
    *(Option(name, type="flag") for name in ("failOnDataLoss", "readChangeData", "readChangeFeed", *_REWRITES)),
    *taken("maxBytesPerTrigger", "startingVersion", "startingTimestamp", "excludeRegex", "path", "fs.*", "dfs.*"),
    *taken("allowSourceColumnDrop", "allowSourceColumnRename", "allowSourceColumnTypeChange"),
    *taken("schemaTrackingLocation", "schemaLocation", "streamingSourceTrackingId"),
    *refused(
        {
            "endingVersion": (_ENDLESS, _NO_END),
            "endingTimestamp": (_ENDLESS, _NO_END),
            "versionAsOf": (_A_STREAM, _A_VERSION),
            "timestampAsOf": (_A_STREAM, _A_VERSION),
            "ignoreFileDeletion": ("Delta has dropped it", "Set 'ignoreDeletes' or 'skipChangeCommits'"),
            "withEventTimeOrder": ("only Databricks puts the rows of a snapshot in order", _IN_ORDER),
        }
    ),
)
"""Every option of a streaming read of a Delta table; `fs.…` and `dfs.…` go to the file system."""

_SCHEMA_LOG: Final = "schemaTrackingLocation"
_ITS_NAMES: Final = frozenset({"schematrackinglocation", "schemalocation"})


@dataclass(frozen=True, slots=True)
class TableSource(SparkSource):
    """A Delta table, by path or by name."""

    options: Sequence[Option] | None = OPTIONS

    def stream(self, read: SourceRead) -> DataFrame:
        """Returns the rows of the table as they come, or its changes."""
        options = dict(read.options)
        if read.path is not None:  # Spark refuses it twice
            options.pop("path", None)
        if read.schemas:  # a script keeps schemas and checkpoints itself
            options = _with_schema_log(options, read.checkpoint)
        return SparkSource.stream(self, replace(read, options=options))

    def batch(self, read: SourceRead) -> DataFrame:
        """Returns the table's rows, or the changes from a version on."""
        reader = read.spark.read.options(**delta_options(read.options, read.description))
        if read.format.casefold() == "table":
            return reader.table(str(read.path))
        return reader.format("delta").load(read.path)


def delta_options(options: Mapping[str, str], description: str, *, computed: bool = False) -> dict[str, str]:
    """Returns with which options a batch reads what a stream would read of a Delta table.

    The stream's own, such as limits of a batch and what becomes of rewritten rows, say nothing about the rows that
    are there. `computed` says that the batch computes the table itself.

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


def stream_options(options: Mapping[str, str], checkpoint: str | None) -> dict[str, str]:
    """Returns the options of a streaming read by name in a pipeline, checked; `checkpoint` is that of the flow.

    Raises:
        DefinitionError: SOURCE_OPTION_UNKNOWN, SOURCE_OPTION_REFUSED, SOURCE_OPTION_INVALID.
    """
    check_options("delta", OPTIONS, options)
    return _with_schema_log(options, checkpoint)


def _with_schema_log(options: Mapping[str, str], checkpoint: str | None) -> dict[str, str]:
    """Returns the options with the place where Delta notes the schemas of a tracked table: in the query's checkpoint.

    A pipeline's checkpoints are its own, so what the author gives as the place only says that schemas are tracked;
    without `checkpoint`, that of the flow when it runs, nothing is noted.
    """
    remaining = {name: value for name, value in options.items() if name.casefold() not in _ITS_NAMES}
    if len(remaining) == len(options) or checkpoint is None:
        return remaining
    return {**remaining, _SCHEMA_LOG: f"{checkpoint}/schemas"}
