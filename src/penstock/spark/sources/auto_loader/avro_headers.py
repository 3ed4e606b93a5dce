"""The schema in the header of each Avro file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from penstock.errors import DataError
from penstock.spark._jvm import avro_schema_reader
from penstock.spark.failures.translate import failure_messages
from penstock.spark.sources.auto_loader.options import AutoLoaderOptions


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
