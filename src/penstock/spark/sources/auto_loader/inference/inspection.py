"""Files whose reader does not report what it leaves out: they are inspected before they are read.

Spark's readers of Avro, ORC, Parquet and XML take the columns that they are asked for. So the columns of files
that were not inspected before (schemas in headers and footers; of XML, the records) are compared with the
schema when the flow starts; a file that arrives later stops the batch, is inspected, and the flow starts again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from penstock.errors import DataError, DefinitionError
from penstock.spark._jvm import has_format
from penstock.spark.sources.auto_loader.files.discovery import Listing, one_of_files_sql
from penstock.spark.sources.auto_loader.inference.columns import (
    all_records_fit,
    check_repeated,
    infer_columns,
    widening,
)
from penstock.spark.sources.auto_loader.inference.file_schemas import schema_of_each
from penstock.spark.sources.auto_loader.options.read_options import AutoLoaderOptions, EvolutionMode
from penstock.spark.sources.auto_loader.schema.log import SchemaLog, SchemaVersion
from penstock.spark.sources.auto_loader.schema.merge import (
    add_new_fields,
    describe_growth,
    new_field_paths,
    without_names,
)
from penstock.spark.sources.auto_loader.schema.other_types import (
    READERS,
    OtherTypes,
    TypeMismatch,
    sort_by_type,
    type_mismatches,
)
from penstock.spark.sources.auto_loader.schema.reports import raise_unknown_sql
from penstock.spark.sources.auto_loader.schema.sql_text import string_array

UNINSPECTED: Final = "(a file that arrived after the start)"

_LOOKED_AT: Final = "_footers_read"
_YOUNG_SECONDS: Final = 3600  # longer than anything pauses that writes a file
# So many paths are passed to the query; of more files, their times say which ones are new.
_MOST_PATHS: Final = 10_000


def note_looked_at(log: SchemaLog, options: AutoLoaderOptions, listing: Listing) -> None:
    """Remembers that the columns of these files are in the newest schema version."""
    log.write_paths(_LOOKED_AT, frozenset(_looked_at(listing, options)))


def inspect_schemas(
    spark: SparkSession,
    options: AutoLoaderOptions,
    version: SchemaVersion,
    listing: Listing,
    log: SchemaLog,
    *,
    persist: bool,
) -> SchemaVersion:
    """Returns `version`, or the next one when files that were not inspected before have other columns.

    Raises:
        DataError, DefinitionError: as `with_columns_of`.
    """
    if version.number == 0:  # it is not stored, nor is what is found for it
        return with_columns_of(spark, options, version, [file.path for file in listing.files])
    seen = log.read_paths(_LOOKED_AT) or frozenset()
    unseen = sorted(
        file.path for file in listing.files if file.identity(options) not in seen and file.as_it_was not in seen
    )
    following = with_columns_of(spark, options, version, unseen)
    if persist and following.others != version.others:
        log.write_others(following.others)
    if persist and following.number != version.number:
        log.write(following)
    if persist and unseen:
        note_looked_at(log, options, listing)
    return following


def with_columns_of(
    spark: SparkSession, options: AutoLoaderOptions, version: SchemaVersion, files: Sequence[str]
) -> SchemaVersion:
    """Returns `version` when it has all columns of `files`, else the next one; writes nothing.

    Either way, `others` lists the columns in `files` that have a type which does not fit.

    Raises:
        DataError: UNKNOWN_FIELD_EXCEPTION in mode failOnNewColumns; AUTO_LOADER_TYPE_MISMATCH without a rescued data
            column; AUTO_LOADER_FILE_UNREADABLE.
        DefinitionError: AUTO_LOADER_TYPE_CONFLICT (xml).
    """
    if not files:
        return version
    found, others = _columns_of_files(spark, options, version, files)
    check_repeated(options, version.columns, found)
    version = version if others == version.others else replace(version, others=others)
    rescued = add_new_fields(version.rescued, options.only_rescued(found))
    if rescued != version.rescued:
        version = version.followed_by(f"rescued: {', '.join(rescued.fieldNames())}", rescued=rescued)
    found = options.without_rescued(found)
    known = {field.name.casefold() for field in version.columns.fields}
    new = without_names(found, (*version.partitions.names, *known))
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


def rescue_other_types(
    spark: SparkSession, options: AutoLoaderOptions, version: SchemaVersion, files: Sequence[str]
) -> OtherTypes:
    """Returns `version.others` with the columns of `files` that have a type which does not fit.

    Raises:
        DataError: AUTO_LOADER_TYPE_MISMATCH without a rescued data column; AUTO_LOADER_FILE_UNREADABLE.
    """
    schemas = schema_of_each(spark, options, files)
    _, found = sort_by_type(version.read_columns(), schemas, options.format, widening(options))
    _check_rescued(spark, options, found)
    return version.others.with_type_mismatches(found)


def _columns_of_files(
    spark: SparkSession, options: AutoLoaderOptions, version: SchemaVersion, files: Sequence[str]
) -> tuple[StructType, OtherTypes]:
    """Returns the columns that `files` have, with the types that fit, and the others."""
    known, widen = version.read_columns(), widening(options)
    try:
        found = infer_columns(spark, options, files)
        if options.format not in READERS or not type_mismatches(
            add_new_fields(known, found, widen), found, options.format
        ):
            return found, version.others.without(files)
    except DefinitionError as error:
        if error.condition != "AUTO_LOADER_TYPE_CONFLICT":
            raise
    schemas = list(schema_of_each(spark, options, files))
    columns, unfit = sort_by_type(known, schemas, options.format, widen)
    _check_rescued(spark, options, unfit)
    names = {field.name.casefold() for _, schema in schemas for field in schema.fields}
    there = StructType([field for field in columns.fields if field.name.casefold() in names])
    return there, version.others.with_type_mismatches(unfit)


def _check_rescued(
    spark: SparkSession, options: AutoLoaderOptions, found: Mapping[str, Sequence[TypeMismatch]]
) -> None:
    path, mismatch = next(((path, each) for path, mismatches in found.items() for each in mismatches), (None, None))
    if mismatch is None or (options.rescued_column is not None and has_format(spark, READERS[options.format])):
        return
    raise DataError(
        "AUTO_LOADER_TYPE_MISMATCH",
        file=path,
        column=mismatch.path,
        found=mismatch.found.simpleString(),
        expected=mismatch.known.simpleString(),
    )


def _looked_at(listing: Listing, options: AutoLoaderOptions) -> Iterator[str]:
    """Yields what identifies the inspected files; of young ones, which may still be written, as they were."""
    young = (time.time() - _YOUNG_SECONDS) * 1000
    for file in listing.files:
        yield file.as_it_was if file.modified_ms > young else file.identity(options)


def stop_at_others(rows: DataFrame, options: AutoLoaderOptions, listing: Listing, source_name: str) -> DataFrame:
    """Returns the rows of the files of `listing`; those of any other file stop the batch."""
    if len(listing.files) <= _MOST_PATHS:
        looked_at = one_of_files_sql(_looked_at(listing, options))
    else:
        newest = max(file.modified_ms for file in listing.files)
        looked_at = f"unix_millis(_metadata.file_modification_time) <= {newest}"
    stop = raise_unknown_sql(source_name, string_array([UNINSPECTED]), "_metadata.file_path")
    return rows.where(f"CASE WHEN {looked_at} THEN true ELSE {stop} END")
