"""How `format("cloudFiles")` is read: as a stream, and as a batch of the files that are there now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.spark.sources.auto_loader.files.discovery import check_times, list_files, within_times
from penstock.spark.sources.auto_loader.inference.columns import infer_first_version
from penstock.spark.sources.auto_loader.inference.inspection import with_columns_of
from penstock.spark.sources.auto_loader.load import load_auto_loader, source_rows, unstored_version
from penstock.spark.sources.auto_loader.options.clean_source import with_destination
from penstock.spark.sources.auto_loader.options.read_options import EvolutionMode, parse_options
from penstock.spark.sources.source import SourceRead, not_possible
from penstock.spark.sources.stream_read import StreamRead

_FORMATS: Final = {
    ".avro": "avro",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".orc": "orc",
    ".parquet": "parquet",
    ".txt": "text",
    ".xml": "xml",
}
_COMPRESSED: Final = {".bz2", ".deflate", ".gz", ".lz4", ".snappy", ".zst"}


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


def load_files(spark: SparkSession, read: StreamRead) -> DataFrame:
    """Returns a batch DataFrame with the columns and the rescued data of the same streaming read.

    The columns are inferred at each call and kept nowhere; a field that the sample did not show is rescued.

    Raises:
        DefinitionError: the AUTO_LOADER_… conditions of the options, PATH_NOT_FOUND,
            CF_EMPTY_DIR_FOR_SCHEMA_INFERENCE.
    """
    options = parse_options(read)
    if options.fails_on_unknown:
        options = replace(options, mode=EvolutionMode.RESCUE)
    check_times(spark, options)
    listing = list_files(spark, options)
    given = read.schema is not None
    if given or options.variant_column is not None:
        version = unstored_version(spark, read, options, listing)
        if options.looks_at_files:
            version = with_columns_of(spark, options, version, [file.path for file in listing.files])
    else:
        version = infer_first_version(spark, options, listing)

    def native(kind: str, settings: Mapping[str, str], schema: StructType) -> DataFrame:
        rows = spark.read.format(kind).options(**settings).schema(schema).load(options.path)
        return within_times(rows, options)

    return source_rows(options, version, native, given_schema=given, source_name="files", checked=None)


def only_format_of(spark: SparkSession, path: str) -> str | None:
    """Returns the format that the names of the files under `path` imply, None when they imply none or several.

    Raises:
        DefinitionError: PATH_NOT_FOUND.
    """
    anything = parse_options(StreamRead("cloudFiles", {"cloudFiles.format": "text"}, path=path))
    found = set()
    for file in list_files(spark, anything).files:
        suffixes = [suffix.casefold() for suffix in PurePosixPath(file.path).suffixes]
        if suffixes and suffixes[-1] in _COMPRESSED:
            suffixes.pop()
        found.add(_FORMATS.get(suffixes[-1]) if suffixes else None)
    return found.pop() if len(found) == 1 else None
