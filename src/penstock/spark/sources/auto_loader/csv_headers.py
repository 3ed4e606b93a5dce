"""The header of each CSV file: its columns are matched by name, whatever their order."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own spelling

from penstock.spark.sources.auto_loader.discovery import path_of_uri
from penstock.spark.sources.auto_loader.encoded_text import decoded
from penstock.spark.sources.auto_loader.options import AutoLoaderOptions
from penstock.spark.sources.files import literal_path

Header = tuple[str, ...]


def read_headers(spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]) -> dict[str, Header]:
    """Returns the header of each file that has one, by path and in the order as given; runs one Spark job."""
    settings = {key: options.reader_option(key) for key in ("encoding", "lineSep") if options.reader_option(key)}
    settings |= options.skipping
    by_tail = {_tail(path): path for path in files}
    lines = decoded(spark.read.options(**settings).text([literal_path(path) for path in files]), options)
    # Inside a task the id grows with the line, so the smallest one of a file's first split is its first line.
    rows = (
        lines.select("value", "_metadata.file_path", "_metadata.file_block_start")
        .withColumn("line", F.monotonically_increasing_id())
        .where("file_block_start = 0 AND trim(value) <> ''")
        .groupBy("file_path")
        .agg(F.min_by("value", "line").alias("header"))
        .collect()
    )
    headers = {}
    for row in rows:
        path = by_tail.get(_tail(path_of_uri(row.file_path)))
        if path is not None:
            headers[path] = _parse(row.header, options)
    return {path: headers[path] for path in files if path in headers}


def distinct_headers(headers: Mapping[str, Header]) -> tuple[Header, ...]:
    """Returns the different headers in the order in which they come."""
    return tuple(dict.fromkeys(headers.values()))


def unambiguous_names(header: Header) -> Header:
    """Returns usable column names: an empty name becomes `_c<position>`, a repeated one gets its position."""
    folded = [name.casefold() for name in header]
    return tuple(
        f"_c{position}" if not name else f"{name}{position}" if name.casefold() in folded[:position] else name
        for position, name in enumerate(header)
    )


def _parse(line: str, options: AutoLoaderOptions) -> Header:
    separator = options.reader_option("sep") or options.reader_option("delimiter") or ","
    separator = separator.encode().decode("unicode_escape") if separator.startswith("\\") else separator
    quote = options.reader_option("quote", '"')
    line = line.removeprefix("\ufeff")
    if len(separator) != 1:
        return tuple(line.split(separator))
    return tuple(
        next(
            csv.reader(
                [line],
                delimiter=separator,
                quotechar=quote or None,
                quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
            )
        )
    )


def _tail(path: str) -> str:
    """The part that a path has in common with the URI that Spark reports: without scheme and authority slashes."""
    return path.partition(":")[2].lstrip("/") if ":" in path.partition("/")[0] else path.lstrip("/")
