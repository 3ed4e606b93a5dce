"""The header of each CSV file: its columns are matched by name, whatever their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own spelling

from penstock.spark.sources.auto_loader.formats.csv_dialect import csv_dialect, header_values
from penstock.spark.sources.auto_loader.formats.encoded_text import decoded, decoded_file, has_utf16_mark, is_wide
from penstock.spark.sources.auto_loader.options.read_options import AutoLoaderOptions
from penstock.spark.sources.spark_sources import literal_path

Header = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileHeader:
    """The header of one file: its names, the record as the file spells it, whether a mark says that it is UTF-16."""

    names: Header
    record: str
    utf16: bool


def read_headers(spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]) -> dict[str, FileHeader]:
    """Returns the header of each file that has one, by path and in the order as given; runs one or two Spark jobs."""
    if is_wide(options) or options.reader_flag("multiLine", default=False):
        records = _of_whole_files(spark, options, files)
    else:
        records = _of_lines(spark, options, files)
        utf16 = [path for path, (_, marked) in records.items() if marked]
        if utf16:
            records |= _of_whole_files(spark, options, utf16)
    names = header_values(spark, [record for record, _ in records.values()], options)
    return {
        path: FileHeader(names[records[path][0]], *records[path])
        for path in files
        if path in records and names[records[path][0]]
    }


def distinct_headers(headers: Mapping[str, FileHeader]) -> tuple[Header, ...]:
    """Returns the different headers in the order in which they come."""
    return tuple(dict.fromkeys(header.names for header in headers.values()))


def is_mixed(headers: Mapping[str, FileHeader], options: AutoLoaderOptions) -> bool:
    """Whether Spark's reader cannot read such files under one schema, so that each is read by its own header."""
    names = distinct_headers(headers)
    unusual = any(unambiguous_names(header) != header for header in names)
    return len(names) > 1 or unusual or is_wide(options) or any(header.utf16 for header in headers.values())


def unambiguous_names(header: Header) -> Header:
    """Returns usable column names: an empty name becomes `_c<position>`, a repeated one gets its position."""
    folded = [name.casefold() for name in header]
    return tuple(
        f"_c{position}" if not name else f"{name}{position}" if name.casefold() in folded[:position] else name
        for position, name in enumerate(header)
    )


def _of_lines(spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]) -> dict[str, tuple[str, bool]]:
    settings = {key: options.reader_option(key) for key in ("lineSep",) if options.reader_option(key)}
    text = spark.read.options(**settings, **options.skipping).text([literal_path(path) for path in files])
    # Inside a task the id grows with the line, so the smallest one of a file's first split is its first line.
    rows = (
        decoded(text.withColumn("utf16", F.expr(has_utf16_mark(options))), options)
        .select("value", "utf16", "_metadata.file_path", "_metadata.file_block_start")
        .withColumn("line", F.monotonically_increasing_id())
        .where(f"file_block_start = 0 AND {csv_dialect(spark, options).is_record('value')}")
        .groupBy("file_path")
        .agg(F.min_by(F.struct("value", "utf16"), "line").alias("first"))
        .collect()
    )
    return _by_path(files, [(row.file_path, row.first.value, row.first.utf16) for row in rows])


def _of_whole_files(
    spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]
) -> dict[str, tuple[str, bool]]:
    reader = spark.read.format("text").options(wholetext="true", **options.skipping)
    text = reader.load([literal_path(path) for path in files])
    rows = (
        decoded_file(text.withColumn("utf16", F.expr(has_utf16_mark(options))), options)
        .selectExpr(f"get({csv_dialect(spark, options).records('value')}, 0)", "utf16", "_metadata.file_path")
        .toDF("record", "utf16", "file_path")
        .where("record IS NOT NULL")
        .collect()
    )
    return _by_path(files, [(row.file_path, row.record, row.utf16) for row in rows])


def _by_path(files: Sequence[str], rows: Sequence[tuple[str, str, bool]]) -> dict[str, tuple[str, bool]]:
    by_tail = {_tail(path): path for path in files}
    found = ((by_tail.get(_tail(unquote(uri))), record, utf16) for uri, record, utf16 in rows)
    return {path: (record.removeprefix("\ufeff"), utf16) for path, record, utf16 in found if path is not None}


def _tail(path: str) -> str:
    """The part that a path has in common with the URI that Spark reports: without scheme and authority slashes."""
    return path.partition(":")[2].lstrip("/") if ":" in path.partition("/")[0] else path.lstrip("/")
