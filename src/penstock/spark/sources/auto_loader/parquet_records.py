"""Parquet files as rows.

Spark's reader takes the columns that it is asked for and says nothing of others, so the footers of files
that were not looked at before are compared with the schema when the flow starts; a file that arrives
later stops the batch, is looked at, and the flow starts again.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.errors import DataError
from penstock.graph.sql_names import literal
from penstock.spark.sources.auto_loader.discovery import Listing
from penstock.spark.sources.auto_loader.inference import infer_columns
from penstock.spark.sources.auto_loader.options import AutoLoaderOptions, EvolutionMode
from penstock.spark.sources.auto_loader.schema_log import SchemaLog, SchemaVersion
from penstock.spark.sources.auto_loader.schema_merge import add_new_fields, new_field_paths
from penstock.spark.sources.auto_loader.sql_text import column, with_file_path
from penstock.spark.sources.auto_loader.unknown_fields import raise_unknown_sql

_LOOKED_AT = "_footers_read"
NOT_LOOKED_AT = "(a file that arrived after the start)"


def checks_footers(options: AutoLoaderOptions) -> bool:
    """Whether this source compares the columns of its files with the schema."""
    return options.format == "parquet" and (options.mode is not EvolutionMode.NONE or options.keeps_unknown)


def look_at_footers(
    spark: SparkSession,
    options: AutoLoaderOptions,
    version: SchemaVersion,
    listing: Listing,
    log: SchemaLog,
    *,
    persist: bool,
) -> SchemaVersion:
    """Returns `version`, or the next one when files that were not looked at before have other columns.

    Raises:
        DataError: UNKNOWN_FIELD_EXCEPTION in mode failOnNewColumns.
        DefinitionError: AUTO_LOADER_TYPE_CONFLICT.
    """
    seen = log.read_paths(_LOOKED_AT) or frozenset()
    current = frozenset(file.path for file in listing.files)
    unseen = sorted(current - seen)
    if not unseen:
        return version
    found = infer_columns(spark, options, unseen)
    known = {field.name.casefold() for field in (*version.columns.fields, *version.partitions.fields)}
    new = StructType([field for field in found.fields if field.name.casefold() not in known])
    grown = add_new_fields(version.columns, StructType([f for f in found.fields if f.name.casefold() in known]))
    paths = (*new.fieldNames(), *new_field_paths(version.columns, grown))
    if paths:
        match options.mode:
            case EvolutionMode.ADD_NEW_COLUMNS:
                columns = StructType([*grown.fields, *new.fields])
                version = version.followed_by(f"new columns: {', '.join(paths)}", columns=columns)
            case EvolutionMode.FAIL_ON_NEW_COLUMNS:
                fields = ", ".join(f"'{path}'" for path in paths)
                raise DataError("UNKNOWN_FIELD_EXCEPTION", fields=fields, file=options.path)
            case _:
                rescued = add_new_fields(version.parquet_rescued, new)
                if rescued != version.parquet_rescued:
                    version = version.followed_by(f"rescued: {', '.join(paths)}", parquet_rescued=rescued)
        if persist and version.number:
            log.write(version)
    if persist:
        log.write_paths(_LOOKED_AT, current)
    return version


def parquet_rows(
    rows: DataFrame, version: SchemaVersion, options: AutoLoaderOptions, source_name: str, listing: Listing | None
) -> DataFrame:
    """Returns the rows in the columns of `version`; `listing` are the files that were looked at, None for no check."""
    if listing is not None:
        newest = max((file.modified_ms for file in listing.files), default=-1)
        late = f"unix_millis(_metadata.file_modification_time) > {newest}"
        stop = raise_unknown_sql(source_name, f"array({literal(NOT_LOOKED_AT)})", "_metadata.file_path")
        rows = rows.where(f"CASE WHEN {late} THEN {stop} ELSE true END")
    columns = [column(field.name) for field in (*version.columns.fields, *version.partitions.fields)]
    if options.rescued_column is not None:
        columns.append(f"{_rescued(version)} AS {column(options.rescued_column)}")
    return rows.selectExpr(*columns)


def _rescued(version: SchemaVersion) -> str:
    names = [column(field.name) for field in version.parquet_rescued.fields]
    if not names:
        return "CAST(NULL AS STRING)"
    present = " OR ".join(f"{name} IS NOT NULL" for name in names)
    document = f"to_json(struct({', '.join(names)}))"
    return f"CASE WHEN {present} THEN {with_file_path(document, 'input_file_name()')} END"
