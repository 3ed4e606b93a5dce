"""How `format("cloudFiles")` is read."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame

from penstock.spark.sources.auto_loader.batch import load_files
from penstock.spark.sources.auto_loader.clean_source import with_destination
from penstock.spark.sources.auto_loader.load import load_auto_loader
from penstock.spark.sources.source import SourceRead, not_possible


class AutoLoader:
    """Auto Loader on Spark's own file source; its options depend on the format of the files, and are checked there."""

    options = None
    replayable = True

    def stream(self, read: SourceRead) -> DataFrame:
        """Returns the rows of the files as they come; `opened` gets the source, which takes in new columns."""
        more = read.more_options(read.format)
        request = with_destination(replace(read, options={**read.options, **more}), read.place)
        frame, source = load_auto_loader(
            read.spark, request, schema_location=read.schemas, source_name=str(read.name), persist=read.persist
        )
        read.opened(source)
        return frame

    def batch(self, read: SourceRead) -> DataFrame:
        """Returns the rows of the files that are there."""
        if (read.option("cloudFiles.includeExistingFiles") or "true").casefold() == "false":
            reason = f"{read.description} is read without the files that are there"
            raise not_possible(reason, "Remove cloudFiles.includeExistingFiles")
        return load_files(read.spark, read)
