"""The columns of each file of a format whose files hold their types: Avro, ORC, Parquet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from penstock.errors import DataError
from penstock.spark._jvm import avro_schema_reader
from penstock.spark.failures.causes import causes_of, failure_messages
from penstock.spark.sources.auto_loader.options.read_options import AutoLoaderOptions
from penstock.spark.sources.spark_sources import literal_path
from penstock.storage import local_path

# What codecs and formats raise for content that is not theirs; a disk or a network fails otherwise.
_DAMAGED: Final = (
    "java.io.EOFException",
    "java.nio.charset.",
    "java.util.zip.",
    "net.jpountz.",
    "org.apache.avro.",
    "org.apache.hadoop.io.compress.",
    "org.apache.orc.",
    "org.apache.parquet.",
    "com.github.luben.zstd.",
)
_DAMAGE: Final = re.compile(
    r"not a parquet file|malformed|corrupt|incorrect header|unknown compression|unknown frame|bad magic|invalid|crc",
    re.IGNORECASE,
)


def schema_of_each(
    spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]
) -> Iterator[tuple[str, StructType]]:
    """Yields each file with the columns that it has; on the driver, file by file.

    Of files that are read by the schema in `avroSchema`, only the first is yielded.

    Raises:
        DataError: AUTO_LOADER_FILE_UNREADABLE.
    """
    spelled = avro_schemas(spark, options, files) if options.format == "avro" else ((path, path) for path in files)
    known: dict[str, StructType] = {}
    for path, schema in spelled:
        try:
            if schema not in known:
                known[schema] = _schema_of(spark, options, path)
        except DataError:
            if not options.skips_corrupt:
                raise
            continue
        yield path, known[schema]


def unreadable(error: BaseException, options: AutoLoaderOptions, files: Sequence[str]) -> DataError | None:
    """Returns what a failure says about one of the files; None when it names none."""
    messages = failure_messages(error)
    text = unquote("\n".join(messages))
    named = next((path for path in files if local_path(path) in text), None)
    if named is None:
        return None
    reason = messages[-1].strip().partition("\n")[0].rstrip(".")
    kind = options.format.capitalize() if options.format == "parquet" else options.format.upper()
    return DataError("AUTO_LOADER_FILE_UNREADABLE", file=named, format=kind, reason=reason)


def damaged_file(failure: BaseException, options: AutoLoaderOptions, files: Sequence[str]) -> DataError | None:
    """Returns what a failed read says about one of `files`; None when it may be that the disk or the network failed."""
    causes = tuple(causes_of(failure))
    if not causes or any(cause.is_storage for cause in causes):
        return None
    last = causes[-1]
    if not last.class_name.startswith(_DAMAGED) and not _DAMAGE.search(last.message):
        return None
    return unreadable(failure, options, files)


def _schema_of(spark: SparkSession, options: AutoLoaderOptions, path: str) -> StructType:
    reader = spark.read.format(options.reader_format).options(**options.reader)
    try:
        return reader.load(literal_path(path)).schema
    except (PySparkException, Py4JJavaError) as error:
        raise unreadable(error, options, [path]) or error from error


def avro_schemas(spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields each file with its schema as JSON text; reads the headers on the driver.

    A schema that the user gives as `avroSchema` is that of each file: then only the first is yielded.

    Raises:
        DataError: AUTO_LOADER_FILE_UNREADABLE.
    """
    if options.reader_option("avroSchema") or options.reader_option("avroSchemaUrl"):
        yield files[0], ""
        return
    schema_of = avro_schema_reader(spark)
    for path in files:
        try:
            yield path, schema_of(path)
        except Py4JJavaError as error:
            if not options.skips_corrupt:
                reason = failure_messages(error)[-1].strip().partition("\n")[0].rstrip(".")
                raise DataError("AUTO_LOADER_FILE_UNREADABLE", file=path, format="Avro", reason=reason) from error
