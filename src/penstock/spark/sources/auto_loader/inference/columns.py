"""Finding the columns of files, by format."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own spelling
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType, TimestampType

from penstock.errors import DefinitionError
from penstock.spark._jvm import cloned_session
from penstock.spark.failures.causes import failure_messages
from penstock.spark.sources.auto_loader.files.discovery import Listing, sample
from penstock.spark.sources.auto_loader.formats.csv_headers import (
    FileHeader,
    distinct_headers,
    is_mixed,
    read_headers,
    unambiguous_names,
)
from penstock.spark.sources.auto_loader.formats.encoded_text import is_wide
from penstock.spark.sources.auto_loader.formats.json_lines import (
    CORRUPT,
    LINE_OPTIONS,
    array_elements,
    inferred,
    json_lines,
    parsed_lines,
    some_begin_as_array,
)
from penstock.spark.sources.auto_loader.inference.file_schemas import schema_of_each, unreadable
from penstock.spark.sources.auto_loader.options.hints import apply_hints
from penstock.spark.sources.auto_loader.options.read_options import AutoLoaderOptions
from penstock.spark.sources.auto_loader.schema.log import SchemaVersion
from penstock.spark.sources.auto_loader.schema.merge import (
    Widen,
    fields_with_several_values,
    number_or_text,
    union_of,
    wider_of_avro,
    without_case_twins,
    without_names,
)
from penstock.spark.sources.auto_loader.schema.other_types import READERS, OtherTypes, sort_by_type, type_mismatches
from penstock.spark.sources.auto_loader.schema.widening import wider
from penstock.spark.sources.spark_sources import literal_path

_LINE: Final = "value"
_RECORD: Final = "__penstock_record"
_FIXED: Final = {
    "binaryFile": StructType(
        [
            StructField("path", StringType()),
            StructField("modificationTime", TimestampType()),
            StructField("length", LongType()),
            StructField("content", BinaryType()),
        ]
    ),
    "text": StructType([StructField("value", StringType())]),
}


def infer_first_version(spark: SparkSession, options: AutoLoaderOptions, listing: Listing) -> SchemaVersion:
    """Returns version 1: what a sample of the files says, with the schema hints applied.

    Raises:
        DefinitionError: CF_EMPTY_DIR_FOR_SCHEMA_INFERENCE, AUTO_LOADER_SCHEMA_HINT_INVALID,
            AUTO_LOADER_TYPE_CONFLICT (xml).
    """
    reason = "first inference"
    if options.fixed_columns:
        return SchemaVersion(1, _FIXED[options.format], listing.partitions, reason)
    # What these files have and the schema has not would be left out without a word.
    chosen = listing.files if options.looks_at_files else sample(spark, options, listing.files)
    files = [file.path for file in chosen]
    if not files:
        raise DefinitionError("CF_EMPTY_DIR_FOR_SCHEMA_INFERENCE", path=options.path)
    found, agree, arrays = _first_columns(spark, options, files)
    partitions = _hinted_partitions(listing.partitions, options)
    columns = apply_hints(without_names(found, partitions.names), options.schema_hints)
    columns = without_names(columns, partitions.names)
    columns = options.without_rescued(columns)
    rescued = options.only_rescued(found) if options.looks_at_files else StructType()
    check_repeated(options, columns, found)
    if not agree or (options.format in READERS and type_mismatches(columns, found, options.format)):
        _, unfit = sort_by_type(columns, schema_of_each(spark, options, files), options.format, None)
        others = OtherTypes().with_type_mismatches(unfit)
        return SchemaVersion(1, columns, partitions, reason, rescued=rescued, others=others)
    if options.format == "csv" and options.reader_flag("header", default=True):
        headers = read_headers(spark, options, files)
        names, mixed = distinct_headers(headers), is_mixed(headers, options)
        return SchemaVersion(1, columns, partitions, reason, csv_headers=names, csv_by_file=mixed)
    if options.format == "json":
        return SchemaVersion(1, columns, partitions, reason, json_arrays=arrays)
    return SchemaVersion(1, columns, partitions, reason, rescued=rescued)


def infer_columns(spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]) -> StructType:
    """Returns the columns of `files`, without hints; strings unless types are inferred.

    Raises:
        DefinitionError: AUTO_LOADER_TYPE_CONFLICT (avro, orc, parquet).
        DataError: AUTO_LOADER_FILE_UNREADABLE.
    """
    return _columns_and_arrays(spark, options, files)[0]


def _columns_and_arrays(
    spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]
) -> tuple[StructType, bool]:
    try:
        if options.format == "json":
            return _infer_json(spark, options, files)
        return _columns_of(spark, options, files), False
    except (PySparkException, Py4JJavaError) as error:
        raise unreadable(error, options, files) or error from error


def _first_columns(
    spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]
) -> tuple[StructType, bool, bool]:
    """Returns the columns of the first files, whether these agree about their types, and whether there are arrays.

    Of files that do not agree the columns are those of the oldest. The arrays are those that hold records, in JSON.
    """
    try:
        columns, arrays = _columns_and_arrays(spark, options, files)
        return columns, True, arrays
    except DefinitionError as error:
        if error.condition != "AUTO_LOADER_TYPE_CONFLICT":
            raise
    schemas = schema_of_each(spark, options, files)
    columns, _ = sort_by_type(StructType(), schemas, options.format, widening(options) or wider_of_avro)
    return columns, False, False


def _columns_of(spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]) -> StructType:
    match options.format:
        case "xml":
            return _infer_records(spark, options, files, {**options.reader, "inferSchema": str(options.infer_types)})
        case "csv":
            return _infer_csv(spark, options, files)
        case "avro":
            return _union_of_files(spark, options, files)
        case "orc" | "parquet":
            return _infer_by_footers(spark, options, files)
        case _:
            return _FIXED[options.format]


def check_repeated(options: AutoLoaderOptions, columns: StructType, found: StructType) -> None:
    """Refuses XML elements that occur several times in a record where the schema has room for one.

    Spark's reader keeps the last of them.

    Raises:
        DefinitionError: AUTO_LOADER_TYPE_CONFLICT.
    """
    repeated = next(fields_with_several_values(columns, found), None) if options.format == "xml" else None
    if repeated is not None:
        detail = f"'{repeated}' occurs several times in a record, and the schema has one value for it; with the hint "
        detail += f"'{repeated} ARRAY<…>' and --full-refresh it is a list"
        raise DefinitionError("AUTO_LOADER_TYPE_CONFLICT", path=options.path, detail=detail)


def widening(options: AutoLoaderOptions) -> Widen | None:
    """Returns what becomes of a type when a file has another one, None where types stay."""
    return partial(wider, source_format=options.format) if options.widens_types else None


def all_records_fit(spark: SparkSession, options: AutoLoaderOptions, columns: StructType, files: Sequence[str]) -> bool:
    """Whether each record of XML files fits in `columns`, which only reading them shows."""
    settings = {**options.reader, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    schema = StructType([*columns.fields, StructField(CORRUPT, StringType())])
    reader = spark.read.format(options.reader_format).options(**settings).schema(schema)
    return not reader.load([literal_path(path) for path in files]).where(f"{CORRUPT} IS NOT NULL").head(1)


def has_json_arrays(spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]) -> bool:
    """Whether records also come as JSON arrays: always possible in multi-line files, else all lines are checked."""
    if options.reader_flag("multiLine", default=False):
        return True
    return some_begin_as_array(json_lines(spark, options, files), "value")


def infer_fitting(
    spark: SparkSession, options: AutoLoaderOptions, version: SchemaVersion, files: Sequence[str]
) -> StructType:
    """Returns what is inferred of those values in JSON files that fit the columns of `version`, but for more fields."""
    lines, settings = json_lines(spark, options, files), _json_settings(options)
    if version.json_arrays:
        lines = lines.select(F.explode(array_elements(lines, _LINE, settings)).alias(_LINE))
    how = parsed_lines(lines, _LINE, _RECORD, version.columns, settings)
    parsed = lines.select(_LINE, how.record.alias(_RECORD)).where(how.more)
    alone = parsed.selectExpr(f"explode(map_values({how.fields})) AS field").selectExpr(
        f"'{{' || field || '}}' AS {_LINE}"
    )
    how = parsed_lines(alone, _LINE, _RECORD, version.columns, settings)
    fitting = alone.select(_LINE, how.record.alias(_RECORD)).where(f"{_RECORD}.{CORRUPT} IS NULL").select(_LINE)
    found = without_case_twins(inferred(fitting, _LINE, settings)[0])
    return without_names(found, [CORRUPT])


def _infer_json(spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]) -> tuple[StructType, bool]:
    """Returns the columns of JSON files, and whether records also come as arrays, as `has_json_arrays` returns."""
    found, arrays = inferred(json_lines(spark, options, files), _LINE, _json_settings(options))
    found = without_names(without_case_twins(found), [CORRUPT])
    arrays = arrays or options.reader_flag("multiLine", default=False)
    if options.infer_types:
        return found, arrays
    return StructType([StructField(field.name, StringType()) for field in found.fields]), arrays


def _json_settings(options: AutoLoaderOptions) -> dict[str, str]:
    return options.reader_without(LINE_OPTIONS) | {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}


def _infer_records(
    spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str], settings: dict[str, str]
) -> StructType:
    """Returns the columns of records, as Spark's reader finds them."""
    paths = [literal_path(path) for path in files]
    settings |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    try:
        inferred = spark.read.format(options.reader_format).options(**settings).load(paths).schema
    except AnalysisException as error:
        if error.getCondition() != "COLUMN_ALREADY_EXISTS":
            raise
        # Names that differ only in case; the second spelling is rescued, as no table could hold both.
        spark = cloned_session(spark, {"spark.sql.caseSensitive": "true"})
        reader = spark.read.format(options.reader_format)
        inferred = reader.options(**settings).load(paths).schema
    return without_names(without_case_twins(inferred), [CORRUPT])


def _infer_csv(spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]) -> StructType:
    settings = {**options.reader, "inferSchema": str(options.infer_types), "mode": "PERMISSIVE"}
    if not options.reader_flag("header", default=True):
        schema = spark.read.options(**settings).csv([literal_path(path) for path in files]).schema
        return StructType([StructField(field.name, field.dataType) for field in schema.fields])
    headers = read_headers(spark, options, files)
    found = []
    # Spark leaves out the lines that are spelled as the first one, so files are inferred with those of one spelling.
    for header in dict.fromkeys(headers.values()):
        names = unambiguous_names(header.names)
        schema = StructType([StructField(name, StringType()) for name in names])
        if options.infer_types:
            group = [literal_path(path) for path in files if headers.get(path) == header]
            own = {**settings, "header": "true", **_encoding_settings(options, header)}
            kinds = [field.dataType for field in spark.read.options(**own).csv(group).schema.fields]
            if len(kinds) == len(names):
                schema = StructType([StructField(name, kind) for name, kind in zip(names, kinds, strict=True)])
        found.append(schema)
    return union_of(found, number_or_text)


def _encoding_settings(options: AutoLoaderOptions, header: FileHeader) -> dict[str, str]:
    """The options with which Spark reads UTF-16: it cuts a file into lines by its bytes unless that is multi-line."""
    if not header.utf16:
        return {"multiLine": "true"} if is_wide(options) else {}
    return {"multiLine": "true", "encoding": "UTF-16"}


def _infer_by_footers(spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]) -> StructType:
    reader = spark.read.format(options.reader_format).options(**{**options.reader, "mergeSchema": "true"})
    try:
        schema = reader.load([literal_path(path) for path in files]).schema
    except (PySparkException, Py4JJavaError) as error:
        messages = failure_messages(error)
        conflicts = [message for message in messages if "CANNOT_MERGE" in message]
        other_spelling = any("COLUMN_ALREADY_EXISTS" in message for message in messages)
        if other_spelling or (conflicts and options.widens_types):  # Spark merges what is the same
            return _union_of_files(spark, options, files)
        if not conflicts:
            raise
        detail = conflicts[-1].partition("] ")[2].partition(". ")[0]
        raise DefinitionError("AUTO_LOADER_TYPE_CONFLICT", path=options.path, detail=detail) from error
    return StructType([StructField(field.name, field.dataType) for field in schema.fields])


def _union_of_files(spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]) -> StructType:
    distinct = {id(schema): schema for _, schema in schema_of_each(spark, options, files)}
    try:
        return union_of(distinct.values(), widening(options))
    except ValueError as error:
        raise DefinitionError("AUTO_LOADER_TYPE_CONFLICT", path=options.path, detail=str(error)) from error


def _hinted_partitions(partitions: StructType, options: AutoLoaderOptions) -> StructType:
    """Partition columns take hinted types too; apply_hints adds unknown names, which are data columns."""
    hinted = {field.name.casefold(): field for field in apply_hints(partitions, options.schema_hints).fields}
    return StructType([StructField(field.name, hinted[field.name.casefold()].dataType) for field in partitions.fields])
