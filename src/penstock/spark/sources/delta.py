"""How tables are read: `format("delta")`, and tables of Spark's catalog by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame

from penstock.spark.sources.source import SourceRead, not_possible
from penstock.spark.sources.sparks import SparkSource

_CHANGE_FEED: Final = frozenset({"readchangefeed", "readchangedata"})
_START: Final = frozenset({"startingversion", "startingtimestamp"})
_FROM_A_VERSION: Final = "Set startingVersion to a number"
_NO_CHANGES: Final = "Read its rows instead"
_WHOLE: Final = "Remove startingVersion and startingTimestamp"


class TableSource(SparkSource):
    """A Delta table, by path or by name."""

    def batch(self, read: SourceRead) -> DataFrame:
        """Returns the table's rows, or the changes from a version on."""
        reader = read.spark.read.options(**delta_options(read.options, read.description))
        if read.format.casefold() == "table":
            return reader.table(str(read.path))
        return reader.format("delta").load(read.path)


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
