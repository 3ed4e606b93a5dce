"""Files whose reader does not tell what it leaves out: they are looked at before they are read.

Spark's readers of Avro, ORC, Parquet and XML take the columns that they are asked for. So the columns of files
that were not looked at before (schemas in headers and footers; of XML, the records) are compared with the
schema when the flow starts; a file that arrives later stops the batch, is looked at, and the flow starts again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.errors import DataError
from penstock.spark.sources.auto_loader.discovery import Listing, one_of_files_sql
from penstock.spark.sources.auto_loader.inference import all_records_fit, check_repeated, infer_columns, widening
from penstock.spark.sources.auto_loader.options import AutoLoaderOptions, EvolutionMode
from penstock.spark.sources.auto_loader.schema_log import SchemaLog, SchemaVersion
from penstock.spark.sources.auto_loader.schema_merge import add_new_fields, describe_growth, new_field_paths
from penstock.spark.sources.auto_loader.sql_text import string_array
from penstock.spark.sources.auto_loader.unknown_fields import raise_unknown_sql

NOT_LOOKED_AT: Final = "(a file that arrived after the start)"

_LOOKED_AT: Final = "_footers_read"
# So many paths are told to the query; of more files, their times say which ones are new.
_MOST_PATHS: Final = 10_000


def note_looked_at(log: SchemaLog, options: AutoLoaderOptions, listing: Listing) -> None:
    """Remembers that the columns of these files are in the newest schema version."""
    log.write_paths(_LOOKED_AT, frozenset(file.identity(options) for file in listing.files))


def look_at_files(
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
        DataError, DefinitionError: as `with_columns_of`.
    """
    if version.number == 0:  # it is not stored, nor is what is found for it
        return with_columns_of(spark, options, version, [file.path for file in listing.files])
    seen = log.read_paths(_LOOKED_AT) or frozenset()
    unseen = sorted(file.path for file in listing.files if file.identity(options) not in seen)
    following = with_columns_of(spark, options, version, unseen)
    if persist and following is not version:
        log.write(following)
    if persist and unseen:
        note_looked_at(log, options, listing)
    return following


def with_columns_of(
    spark: SparkSession, options: AutoLoaderOptions, version: SchemaVersion, files: Sequence[str]
) -> SchemaVersion:
    """Returns `version` when it has all columns of `files`, else the next one; writes nothing.

    Raises:
        DataError: UNKNOWN_FIELD_EXCEPTION in mode failOnNewColumns; AUTO_LOADER_FILE_UNREADABLE.
        DefinitionError: AUTO_LOADER_TYPE_CONFLICT.
    """
    if not files:
        return version
    found = infer_columns(spark, options, files)
    check_repeated(options, version.columns, found)
    partitions = {field.name.casefold() for field in version.partitions.fields}
    known = {field.name.casefold() for field in version.columns.fields}
    new = StructType([field for field in found.fields if field.name.casefold() not in partitions | known])
    same = StructType([field for field in found.fields if field.name.casefold() in known])
    # A number of XML has no type of its own: the inferred one matters where the known one does not do.
    types_stay = (
        options.format == "xml" and options.widens_types and all_records_fit(spark, options, version.columns, files)
    )
    grown = add_new_fields(version.columns, same, None if types_stay else widening(options))
    paths = (*new.fieldNames(), *new_field_paths(version.columns, grown))
    if options.mode.adds_columns:
        columns = StructType([*grown.fields, *new.fields])
        reason = describe_growth(version.columns, columns)
        return version.followed_by(reason, columns=columns) if reason else version
    if not paths:
        return version
    match options.mode:
        case EvolutionMode.FAIL_ON_NEW_COLUMNS:
            fields = ", ".join(f"'{path}'" for path in paths)
            raise DataError("UNKNOWN_FIELD_EXCEPTION", fields=fields, file=options.path)
        case _:
            larger = [after for before, after in zip(version.columns, grown, strict=True) if before != after]
            rescued = add_new_fields(version.rescued, StructType([*new.fields, *larger]))
            if rescued == version.rescued:
                return version
            return version.followed_by(f"rescued: {', '.join(paths)}", rescued=rescued)


def stop_at_others(rows: DataFrame, options: AutoLoaderOptions, listing: Listing, source_name: str) -> DataFrame:
    """Returns the rows of the files of `listing`; those of any other file stop the batch."""
    if len(listing.files) <= _MOST_PATHS:
        looked_at = one_of_files_sql(file.identity(options) for file in listing.files)
    else:
        newest = max(file.modified_ms for file in listing.files)
        looked_at = f"unix_millis(_metadata.file_modification_time) <= {newest}"
    stop = raise_unknown_sql(source_name, string_array([NOT_LOOKED_AT]), "_metadata.file_path")
    return rows.where(f"CASE WHEN {looked_at} THEN true ELSE {stop} END")
