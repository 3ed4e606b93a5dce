"""Whole records as one VARIANT: `singleVariantColumn`."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType, VariantType

from penstock.spark.sources.auto_loader.options import AutoLoaderOptions
from penstock.spark.sources.auto_loader.schema_log import SchemaVersion
from penstock.spark.sources.auto_loader.sql_text import column, whole_record

_CORRUPT: Final = "__penstock_corrupt"


def variant_version(options: AutoLoaderOptions, partitions: StructType) -> SchemaVersion:
    """Returns the schema of such a source: never stored, as nothing is inferred."""
    assert options.variant_column is not None
    columns = StructType([StructField(options.variant_column, VariantType())])
    return SchemaVersion(0, columns, partitions, "one VARIANT")


def variant_options(options: AutoLoaderOptions) -> dict[str, str]:
    """Returns the options of Spark's reader; the header of a CSV file gives the names inside the value."""
    assert options.variant_column is not None
    header = {"header": "true"} if options.format == "csv" else {}
    own = {"singleVariantColumn": options.variant_column, "columnNameOfCorruptRecord": _CORRUPT}
    return {**header, **options.reader, **own}


def variant_schema(version: SchemaVersion) -> StructType:
    """Returns the schema with which Spark reads the files; it adds the partition columns itself."""
    return StructType([*version.columns.fields, StructField(_CORRUPT, StringType())])


def variant_rows(rows: DataFrame, version: SchemaVersion, options: AutoLoaderOptions) -> DataFrame:
    """Returns the value, the partition columns, and the text of what could not be parsed as rescued data."""
    columns = [column(field.name) for field in (*version.columns.fields, *version.partitions.fields)]
    if options.rescued_column is not None:
        rescued = f"IF({_CORRUPT} IS NULL, NULL, {whole_record(_CORRUPT, 'input_file_name()')})"
        columns.append(f"{rescued} AS {column(options.rescued_column)}")
    return rows.selectExpr(*columns)
