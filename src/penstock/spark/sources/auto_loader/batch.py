"""The files that are there now, read as Auto Loader reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.spark.sources.auto_loader import option_names
from penstock.spark.sources.auto_loader.discovery import list_files
from penstock.spark.sources.auto_loader.inference import infer_first_version
from penstock.spark.sources.auto_loader.load import given_version
from penstock.spark.sources.auto_loader.options import EvolutionMode, parse_options
from penstock.spark.sources.auto_loader.records import file_rows
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


def load_files(spark: SparkSession, read: StreamRead) -> DataFrame:
    """Returns a batch DataFrame with the columns and the rescued data of the same streaming read.

    The columns are inferred at each call and kept nowhere; a field that the sample did not show is rescued. A
    format that Auto Loader does not serve is read by Spark alone, without rescued data. The caller suspends its read
    handler (`handling_reads(None)`).

    Raises:
        DefinitionError: the AUTO_LOADER_… conditions of the options, PATH_NOT_FOUND,
            CF_EMPTY_DIR_FOR_SCHEMA_INFERENCE.
    """
    source_format = (read.option("cloudFiles.format") or "").casefold()
    if source_format not in option_names.FORMATS:
        return _read_by_spark(spark, read, source_format)
    options = parse_options(read)
    if options.fails_on_unknown:
        options = replace(options, mode=EvolutionMode.RESCUE)
    listing = list_files(spark, options)
    given = read.schema is not None
    version = given_version(spark, read, options, listing) if given else infer_first_version(spark, options, listing)

    def native(kind: str, settings: Mapping[str, str], schema: StructType) -> DataFrame:
        return spark.read.format(kind).options(**settings).schema(schema).load(options.path)

    if options.format == "text" or (given and options.rescued_column is None):
        return native(options.format, options.reader, StructType([*version.columns, *version.partitions]))
    return file_rows(options, version, native, source_name="files", checked=None)


def only_format_of(spark: SparkSession, path: str) -> str | None:
    """Returns the format that the names of the files under `path` tell, None when they tell none or several.

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


def _read_by_spark(spark: SparkSession, read: StreamRead, source_format: str) -> DataFrame:
    settings = {
        name: value
        for name, value in read.options.items()
        if not name.casefold().startswith(option_names.PREFIX.casefold())
    }
    reader = spark.read.format(source_format).options(**settings)
    if read.schema is not None:
        reader = reader.schema(read.schema)
    return reader.load(read.path)
