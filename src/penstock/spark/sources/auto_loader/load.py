"""From `spark.readStream.format("cloudFiles")…load(path)` to a DataFrame: its schema, and its rows in any format."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType, _parse_datatype_string

from penstock.spark.sources.auto_loader.files.arriving import arriving_files, limit_options, needs_sizes
from penstock.spark.sources.auto_loader.files.discovery import (
    Listing,
    check_times,
    list_files,
    one_of_files_sql,
    sample,
    within_times,
)
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
    NativeRead,
    native_rows,
    variant_rows,
    variant_version,
)
from penstock.spark.sources.auto_loader.formats.text_values import typed_partitions, with_text_partitions
from penstock.spark.sources.auto_loader.inference.columns import has_json_arrays, infer_first_version
from penstock.spark.sources.auto_loader.inference.inspection import inspect_schemas, note_looked_at, stop_at_others
from penstock.spark.sources.auto_loader.options.clean_source import check_no_sink_log
from penstock.spark.sources.auto_loader.options.hints import apply_hints
from penstock.spark.sources.auto_loader.options.read_options import AutoLoaderOptions, parse_options
from penstock.spark.sources.auto_loader.schema.log import SchemaLog, SchemaVersion
from penstock.spark.sources.auto_loader.schema.merge import add_new_fields, describe_growth, without_names
from penstock.spark.sources.auto_loader.source import AutoLoaderSource
from penstock.spark.sources.file_reports import listen_for_skipped_files
from penstock.spark.sources.spark_sources import check_path_is_found
from penstock.spark.sources.stream_read import StreamRead, native_load

_EXISTING: Final = "_existing_files"
# The options that say which files are read.
_OF_FILES: Final = ("basePath", "ignoreCorruptFiles", "ignoreMissingFiles", "pathGlobFilter", "recursiveFileLookup")


@dataclass(frozen=True, slots=True)
class _Inferred:
    """The first version of a schema, and the files that were listed for it: what came since is not known."""

    options: AutoLoaderOptions
    version: SchemaVersion
    listing: Listing

    def store(self, log: SchemaLog) -> None:
        if self.version.others.files:
            log.write_others(self.version.others)
        log.write(self.version)
        if self.options.looks_at_files:
            note_looked_at(log, self.options, self.listing)


# `validate` writes nothing, and a dataset function is called more than once; one inference a process is enough.
_inferred: dict[tuple[object, ...], _Inferred] = {}


def load_auto_loader(
    spark: SparkSession, read: StreamRead, *, schema_location: str, source_name: str, persist: bool
) -> tuple[DataFrame, AutoLoaderSource]:
    """Serves one cloudFiles read; called each time a dataset function that contains it is called.

    The DataFrame streams from Spark's own file source, named `source_name` (ASCII letters, digits and
    underscores). Its columns are those of the newest schema version under `schema_location`, then the
    partition columns, then the rescued data column when there is one; `_metadata` can be selected. Without a
    version the columns are inferred: stored as version 1 with `persist`, else kept for this process only
    (`persist=False` writes nothing to storage).

    A source does not evolve by itself: the runtime passes the failure of the query to `AutoLoaderSource.evolve`.

    Raises:
        DefinitionError: the AUTO_LOADER_… conditions of the options, PATH_NOT_FOUND, PATH_READ_AS_PATTERN,
            CF_EMPTY_DIR_FOR_SCHEMA_INFERENCE.
        DataError: UNKNOWN_FIELD_EXCEPTION (avro, orc, parquet and xml in mode failOnNewColumns),
            AUTO_LOADER_FILE_UNREADABLE, and AUTO_LOADER_TYPE_MISMATCH where there is no rescued data column (avro,
            orc, parquet).
        StateError: AUTO_LOADER_SCHEMA_UNREADABLE.
    """
    options = parse_options(read)
    check_times(spark, options)
    check_path_is_found(spark, options.path)
    if options.clean is not None:
        check_no_sink_log(spark, options.clean, options.path)
    if options.skipping:
        listen_for_skipped_files(spark)
    log = SchemaLog(schema_location)
    stored: SchemaVersion | None = None
    listing: Listing | None = None
    if options.variant_column is not None or read.schema is not None:
        listing = list_files(spark, options)
        version = replace(unstored_version(spark, read, options, listing), others=log.others())
    else:
        stored = log.latest()
        if stored is None:
            version, listing = _first_version(spark, options, log, persist=persist)
        else:
            version = stored if options.fixed_columns else _with_hinted_fields(stored, options.schema_hints)
            if persist and version is not stored:
                log.write(version)
            listing = list_files(spark, options) if needs_sizes(options) or options.looks_at_files else None
    if options.looks_at_files and listing is not None and (stored is not None or read.schema is not None):
        version = inspect_schemas(spark, options, version, listing, log, persist=persist)

    sizes = [file.size for file in listing.files] if listing is not None else []
    source_options = {**limit_options(options, sizes), "maxFileAge": options.max_file_age}

    def native(kind: str, settings: Mapping[str, str], schema: StructType) -> DataFrame:
        inferred = version.number > 0 and options.partition_columns is None
        partitions = version.partitions.fieldNames() if inferred else None
        source_format, settings = arriving_files(spark, kind, {**settings, **source_options}, options, partitions)
        rows = native_load(spark, source_format, settings, schema, options.path, source_name=source_name)
        return within_times(rows, options)

    checked, given = listing if options.looks_at_files else None, read.schema is not None
    frame = source_rows(options, version, native, given_schema=given, source_name=source_name, checked=checked)
    if not options.include_existing:
        frame = _without_existing(spark, frame, options, log, persist=persist)
    source = AutoLoaderSource(
        source_name=source_name,
        path=options.path,
        schema_location=schema_location,
        options=options,
        version=version,
        given_schema=read.schema is not None or options.variant_column is not None,
    )
    return frame, source


def unstored_version(
    spark: SparkSession, read: StreamRead, options: AutoLoaderOptions, listing: Listing
) -> SchemaVersion:
    """Returns the version that `.schema(…)` or `singleVariantColumn` stands for."""
    if options.variant_column is not None:
        return variant_version(options, listing.partitions)
    given = read.schema if isinstance(read.schema, StructType) else _parse_datatype_string(str(read.schema))
    assert isinstance(given, StructType)
    found = {field.name.casefold() for field in listing.partitions.fields}
    parsed_here = not options.reads_as_spark(given_schema=True)
    first = [file.path for file in sample(spark, options, listing.files)[:1]]
    return SchemaVersion(
        number=0,
        columns=without_names(given, (*listing.partitions.names, options.rescued_column or "")),
        partitions=StructType([f for f in given.fields if f.name.casefold() in found]),
        reason="given by .schema(…)",
        json_arrays=options.format == "json" and parsed_here and bool(first) and has_json_arrays(spark, options, first),
    )


def _with_hinted_fields(version: SchemaVersion, hints: str | None) -> SchemaVersion:
    """Returns `version`, or the next one with the hinted fields that it has not: hints that were given since.

    The types of known fields stay, because the table has them.

    Raises:
        DefinitionError: AUTO_LOADER_SCHEMA_HINT_INVALID.
    """
    hinted = without_names(apply_hints(version.columns, hints), version.partitions.names)
    columns = add_new_fields(version.columns, hinted)
    if columns == version.columns:
        return version
    return version.followed_by(f"hints: {describe_growth(version.columns, columns)}", columns=columns)


def forget_inferred() -> None:
    """Has schemas inferred again: the files may be what makes a pipeline invalid, and are mended next."""
    _inferred.clear()


def store_inferred(locations: Collection[str]) -> None:
    """Stores the schemas that this process has inferred last for `locations`, and has not stored.

    Called once a whole pipeline is valid: what was inferred for another one would stay in force when it is mended.

    Raises:
        ConfigError, ExternalError: the storage cannot be written.
    """
    newest = {str(key[0]): key for key in _inferred if key[0] in locations}
    for location, key in newest.items():
        log = SchemaLog(location)
        if log.latest() is None:
            _inferred.pop(key).store(log)


def _first_version(
    spark: SparkSession, options: AutoLoaderOptions, log: SchemaLog, *, persist: bool
) -> tuple[SchemaVersion, Listing]:
    key = (log.location, options.path, options.format, options.infer_types, options.schema_hints,
           options.partition_columns, options.modified_after, options.modified_before, options.widens_types,
           tuple(sorted(options.reader.items())))  # fmt: skip
    found = _inferred.pop(key, None)
    if found is None:
        listing = list_files(spark, options)
        found = _Inferred(options, infer_first_version(spark, options, listing), listing)
    if persist:
        found.store(log)
    else:
        _inferred[key] = found
    return found.version, found.listing


def _without_existing(
    spark: SparkSession, frame: DataFrame, options: AutoLoaderOptions, log: SchemaLog, *, persist: bool
) -> DataFrame:
    """Leaves out the files that were there at the first start.

    They are known by path: a modification time would also leave out an old file that is moved in later.
    """
    existing = log.read_paths(_EXISTING)
    if existing is None:
        existing = frozenset(file.identity(options) for file in list_files(spark, options).files)
        if persist:
            log.write_paths(_EXISTING, existing)
    return frame.where(f"NOT {one_of_files_sql(existing)}") if existing else frame


def source_rows(
    options: AutoLoaderOptions,
    version: SchemaVersion,
    native: NativeRead,
    *,
    given_schema: bool,
    source_name: str,
    checked: Listing | None,
) -> DataFrame:
    """Returns the rows of the files that `native` reads, streaming or batch as that is.

    They may be those of Spark's reader: then nothing is rescued, and no unknown field stops the batch. `checked` are
    the files whose columns were compared with `version`; None asks for no such comparison.
    """
    as_text = with_text_partitions(version)
    if options.fixed_columns or options.reads_as_spark(given_schema=given_schema):
        schema = StructType([*version.columns.fields, *as_text.partitions.fields])
        rows = native(options.reader_format, options.reader, schema)
    elif options.variant_column is not None:
        return variant_rows(native, version, options)
    else:
        rows = _rows(options, as_text, native, source_name, checked)
    return typed_partitions(rows, version, options, source_name)


def _rows(
    options: AutoLoaderOptions, version: SchemaVersion, native: NativeRead, source_name: str, checked: Listing | None
) -> DataFrame:
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
        case _ if checked is None:
            return native_rows(native, version, options, source_name)
        case _:

            def of_checked(kind: str, settings: Mapping[str, str], schema: StructType) -> DataFrame:
                return stop_at_others(native(kind, settings, schema), options, checked, source_name)

            return native_rows(of_checked, version, options, source_name)
