"""The rows of files, whatever their format: columns of the schema, partition columns, rescued data."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from penstock.spark.sources.auto_loader.files.discovery import Listing
from penstock.spark.sources.auto_loader.formats.csv_records import (
    by_file_rows,
    same_header_options,
    same_header_rows,
    same_header_schema,
)
from penstock.spark.sources.auto_loader.formats.encoded_text import decoded_file
from penstock.spark.sources.auto_loader.formats.json_lines import line_options, text_lines
from penstock.spark.sources.auto_loader.formats.json_records import json_rows
from penstock.spark.sources.auto_loader.formats.native_records import (
    native_format,
    native_options,
    native_rows,
    native_schema,
    variant_options,
    variant_rows,
    variant_schema,
)
from penstock.spark.sources.auto_loader.formats.partition_values import typed_partitions, with_text_partitions
from penstock.spark.sources.auto_loader.inference.inspection import stop_at_others
from penstock.spark.sources.auto_loader.options.read_options import AutoLoaderOptions
from penstock.spark.sources.auto_loader.schema.log import SchemaVersion

NativeRead = Callable[[str, Mapping[str, str], StructType], DataFrame]
"""Spark's own read of the source's files: in a format, with these options and this schema."""


def plain_rows(
    options: AutoLoaderOptions, version: SchemaVersion, native: NativeRead, *, source_name: str
) -> DataFrame:
    """Returns the rows as Spark's reader gives them: nothing is rescued, and no unknown field stops the batch."""
    schema = StructType([*version.columns.fields, *with_text_partitions(version).partitions.fields])
    return typed_partitions(native(options.reader_format, options.reader, schema), version, options, source_name)


# The options that say which files are read.
_OF_FILES = ("basePath", "ignoreCorruptFiles", "ignoreMissingFiles", "pathGlobFilter", "recursiveFileLookup")


def file_rows(
    options: AutoLoaderOptions,
    version: SchemaVersion,
    native: NativeRead,
    *,
    source_name: str,
    checked: Listing | None,
) -> DataFrame:
    """Returns the rows of the files that `native` reads, streaming or batch as that is.

    `checked` are the files whose columns were compared with `version`; None asks for no such comparison.
    """
    if options.variant_column is not None:  # Spark adds the partition columns itself
        return _rows(options, version, native, source_name, checked)
    rows = _rows(options, with_text_partitions(version), native, source_name, checked)
    return typed_partitions(rows, version, options, source_name)


def _rows(
    options: AutoLoaderOptions, version: SchemaVersion, native: NativeRead, source_name: str, checked: Listing | None
) -> DataFrame:
    if options.variant_column is not None:
        return variant_rows(
            native(options.reader_format, variant_options(options), variant_schema(version)), version, options
        )
    text_schema = StructType([StructField("value", StringType()), *version.partitions.fields])
    match options.format:
        case "json":
            lines = text_lines(native("text", line_options(options), text_schema), options)
            return json_rows(lines, version, options, source_name)
        case "csv" if version.csv_by_file:
            settings = {name: options.reader_option(name) for name in _OF_FILES}
            settings = {name: value for name, value in settings.items() if value} | {"wholetext": "true"}
            text = decoded_file(native("text", settings, text_schema), options)
            return by_file_rows(text, version, options, source_name)
        case "csv":
            settings = same_header_options(options, by_name=bool(version.csv_headers))
            rows = native("csv", settings, same_header_schema(version, options))
            return same_header_rows(rows, version, options, source_name)
        case _:
            settings = native_options(version, options)
            rows = native(native_format(version, options), settings, native_schema(version, options))
            if checked is not None:
                rows = stop_at_others(rows, options, checked, source_name)
            return native_rows(rows, version, options, source_name)
