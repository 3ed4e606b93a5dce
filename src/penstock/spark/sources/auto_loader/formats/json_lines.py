"""Lines of JSON in the JVM: by Penstock's own Java classes where the session has them, else as Spark does it.

Also SQL that finds the fields of a JSON text that a schema does not know.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own spelling
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType

from penstock.graph.sql.names import literal, quoted
from penstock.spark._jvm import java_session, jvm, scala_map
from penstock.spark.accelerators.accelerator import JSON_INFERENCE
from penstock.spark.plans.java_columns import called_for_rows
from penstock.spark.sources.auto_loader.formats.encoded_text import decoded
from penstock.spark.sources.auto_loader.formats.text_values import exact_fields, rounded_columns
from penstock.spark.sources.auto_loader.options.read_options import AutoLoaderOptions
from penstock.spark.sources.auto_loader.schema.reports import PATH_SEPARATOR
from penstock.spark.sources.auto_loader.schema.sql_text import string_array
from penstock.spark.sources.spark_sources import literal_path

_SEPARATOR = "'\\u0001'"

CORRUPT: Final = "__penstock_corrupt"
LINE_OPTIONS: Final = ("encoding", "charset", "linesep")
"""The options that say where a line ends and how its bytes are text, folded."""

_MORE: Final = "__penstock_more"
_ROUNDED: Final = "__penstock_rounded"
_FIELDS: Final = "__penstock_fields"
_MARK: Final = literal("\ufeff")


def unknown_fields_sql(text: str, schema: StructType, also_known: tuple[str, ...] = ()) -> str:
    """Returns SQL for the paths of the fields of the JSON object `text` that have a value and no place in `schema`.

    NULL when `text` is not a JSON object. Nested structs, and structs in arrays and maps, are searched too;
    the parts of a path are joined by PATH_SEPARATOR. `also_known` are top-level names that count as known.
    """
    return _unknown(text, schema, also_known, itertools.count())


def folded_paths(schema: StructType, prefix: str = "") -> Iterator[str]:
    """Yields the path of every field of `schema`, nested ones too, in lower case and joined by PATH_SEPARATOR."""
    for field in schema.fields:
        path = prefix + field.name.lower()
        yield path
        kind = field.dataType
        while isinstance(kind, (ArrayType, MapType)):
            kind = kind.elementType if isinstance(kind, ArrayType) else kind.valueType
        if isinstance(kind, StructType):
            yield from folded_paths(kind, path + PATH_SEPARATOR)


def has_struct(kind: DataType) -> bool:
    """Whether there are fields inside of a value of this type."""
    match kind:
        case StructType():
            return True
        case ArrayType():
            return has_struct(kind.elementType)
        case MapType():
            return has_struct(kind.valueType)
        case _:
            return False


def value_at(text: str, name: str) -> str:
    """Returns SQL for the JSON text of field `name` of the JSON object `text`, NULL when it is absent or null."""
    if "'" in name or "\\" in name:  # a JSON path cannot spell these
        return f"to_json(element_at(CAST(try_parse_json({text}) AS MAP<STRING, VARIANT>), {literal(name)}))"
    return f"get_json_object({text}, {literal(f'$[{chr(39)}{name}{chr(39)}]')})"


def variant_fields(text: str) -> str:
    """Returns SQL for the fields of the JSON object `text` that have a value: `"name":value` under its name.

    NULL where `text` is no object. VARIANT writes numbers in its own way: some lose digits.
    """
    fields = f"try_variant_get(try_parse_json({text}), '$', 'MAP<STRING, VARIANT>')"
    fields = f"map_filter({fields}, (k, x) -> NOT is_variant_null(x))"
    return f"transform_values({fields}, (k, x) -> regexp_extract(to_json(map(k, x)), '(?s)^.(.*).$', 1))"


def _unknown(text: str, schema: StructType, also_known: tuple[str, ...], ids: Iterator[int]) -> str:
    known = string_array([*schema.fieldNames(), *also_known])
    key = f"k{next(ids)}"
    # A field that is null says nothing; a key with a quote cannot be looked up and counts as a value.
    has_value = f"contains({key}, '\\'') OR get_json_object({text}, concat('$[\\'', {key}, '\\']')) IS NOT NULL"
    top = f"filter(array_except(json_object_keys({text}), {known}), {key} -> {has_value})"
    nested = [
        _below(field.name, value_at(text, field.name), field.dataType, ids)
        for field in schema.fields
        if has_struct(field.dataType)
    ]
    return f"concat({', '.join([top, *nested])})" if nested else top


def _below(name: str, text: str, kind: DataType, ids: Iterator[int]) -> str:
    path = f"p{next(ids)}"
    inner = _inside(text, kind, ids)
    prefixed = f"transform({inner}, {path} -> concat({literal(name)}, {_SEPARATOR}, {path}))"
    return f"coalesce({prefixed}, CAST(array() AS ARRAY<STRING>))"


def _inside(text: str, kind: DataType, ids: Iterator[int]) -> str:
    match kind:
        case StructType():
            return _unknown(text, kind, (), ids)
        case ArrayType():
            elements, inner_kind = f"from_json({text}, 'ARRAY<STRING>')", kind.elementType
        case MapType():
            elements, inner_kind = f"map_values(from_json({text}, 'MAP<STRING, STRING>'))", kind.valueType
        case _:
            raise AssertionError(kind)
    element = f"e{next(ids)}"
    found = f"coalesce({_inside(element, inner_kind, ids)}, CAST(array() AS ARRAY<STRING>))"
    return f"array_distinct(flatten(transform({elements}, {element} -> {found})))"


def line_options(options: AutoLoaderOptions) -> dict[str, str]:
    """Returns the options of the text source that serves the lines."""
    chosen = options.reader_without({"multiline"})
    for name in list(chosen):
        if name.casefold() == "charset":
            chosen["encoding"] = chosen.pop(name)
    if options.reader_flag("multiLine", default=False) or _is_split_here(options):
        chosen["wholetext"] = "true"
    return chosen


def text_lines(text: DataFrame, options: AutoLoaderOptions) -> DataFrame:
    """Returns the rows of Spark's text source, in a column `value`, in UTF-8 and without byte-order marks.

    A multi-line file that begins with the mark of UTF-16 needs no `encoding`.
    """
    lines = decoded(text, options)
    if options.reader_flag("multiLine", default=False) and lines is text:
        java = jvm(text.sparkSession)
        with suppress(TypeError):  # a session without Penstock's classes
            kind = java.org.apache.spark.sql.types.DataTypes.StringType
            value = called_for_rows(text.sparkSession, java.penstock.json.MarkedText(), "decoded", kind, F.col("value"))
            lines = text.withColumn("value", value)
    if _is_split_here(options):
        end = options.reader_option("lineSep", "\n")
        others = [F.col(quoted(name)) for name in lines.columns if name != "value"]
        lines = lines.select(F.explode(F.split("value", f"\\Q{end}\\E")).alias("value"), *others)
    return lines.withColumn("value", F.expr(f"IF(startswith(value, {_MARK}), substring(value, 2), value)"))


def json_lines(spark: SparkSession, options: AutoLoaderOptions, files: Sequence[str]) -> DataFrame:
    """Returns the lines of these files, in a column `value`; whole files if they are multi-line."""
    reader = spark.read.format("text").options(**line_options(options))
    return text_lines(reader.load([literal_path(path) for path in files]), options)


def some_begin_as_array(lines: DataFrame, line: str) -> bool:
    """Returns whether one of the lines begins as a JSON array does."""
    return not lines.where(_begins_as_array(line)).isEmpty()


def array_elements(lines: DataFrame, line: str, options: Mapping[str, str]) -> Column:
    """Returns the elements of each line that is a JSON array, as an array of JSON texts; another line is its only one.

    `options` are those of `from_json`.
    """
    java = jvm(lines.sparkSession)
    try:
        arrays = java.penstock.json.JsonArrays(scala_map(lines.sparkSession, options), _time_zone(lines))
    except TypeError:  # a session without Penstock's classes
        elements = f"coalesce(from_json({line}, 'ARRAY<STRING>'), array({line}))"
        return F.expr(f"IF({_begins_as_array(line)}, {elements}, array({line}))")
    types = java.org.apache.spark.sql.types.DataTypes
    kind = types.createArrayType(types.StringType)
    return called_for_rows(lines.sparkSession, arrays, "elements", kind, F.col(line))


@dataclass(frozen=True, slots=True)
class ParsedLines:
    """How lines are parsed, and what is known of each: SQL in which the struct `record` is under its name.

    `more` says whether there may be more in the line than in the record. Where it is true, `rounded` has the names of
    the columns that have less digits than the line, and `fields` is a map of the fields of the line that have a value:
    each as `"name":value` under its name, NULL for a line that is no object or repeats a name. `exact` are the columns
    of the record: decimals may have more digits than asked for.
    """

    record: Column
    more: str
    rounded: str
    fields: str
    exact: bool


def parsed_lines(
    lines: DataFrame, line: str, record: str, schema: StructType, options: Mapping[str, str]
) -> ParsedLines:
    """Returns how to parse the lines in the column `line`: a struct of the fields of `schema`, and `CORRUPT`.

    `CORRUPT` is as `from_json` fills it. A blank line has no record. `options` are those of `from_json`. The numbers of
    a text, in the record and in `fields`, have the characters of the line; in a session without Penstock's classes
    Spark writes them again.
    """
    settings = {**options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    java = jvm(lines.sparkSession)
    try:
        parser = java.penstock.json.JsonRecords(
            schema.json(), scala_map(lines.sparkSession, settings), _time_zone(lines), CORRUPT, _MORE, _ROUNDED, _FIELDS
        )
    except TypeError:  # a session without Penstock's classes: py4j took the class for a package
        given = StructType([*exact_fields(schema), StructField(CORRUPT, StringType())])
        found = F.from_json(line, given, settings)
        return ParsedLines(found, "true", rounded_columns(record, schema), variant_fields(line), exact=False)
    found = called_for_rows(lines.sparkSession, parser, "parse", parser.rowType(), F.col(line))
    rounded = f"coalesce({record}.{_ROUNDED}, CAST(array() AS ARRAY<STRING>))"
    return ParsedLines(found, f"{record}.{_MORE}", rounded, f"{record}.{_FIELDS}", exact=True)


def _is_split_here(options: AutoLoaderOptions) -> bool:
    """Whether only the mark at the start of a file says how its line ends are written."""
    encoding = options.reader_option("encoding") or options.reader_option("charset")
    folded = encoding.casefold().replace("-", "").replace("_", "")
    return folded in {"utf16", "utf32"} and not options.reader_flag("multiLine", default=False)


def _begins_as_array(line: str) -> str:
    return f"startswith(trim(LEADING ' \\t\\r\\n' FROM {line}), '[')"


def inferred(lines: DataFrame, line: str, options: Mapping[str, str]) -> tuple[StructType, bool]:
    """Returns the columns that Spark infers of the lines, and whether one of them begins as an array does.

    Names that differ only in case, and the column of corrupt records, are among the columns. `options` are those of
    Spark's JSON reader.
    """
    spark = lines.sparkSession
    java = jvm(spark)
    text = lines.select(line)
    settings = scala_map(spark, options)
    arrays: Any = None
    folded = {name.casefold(): value.strip().casefold() for name, value in options.items()}
    if "samplingratio" not in folded:
        try:
            counter = java_session(spark).sparkContext().longAccumulator()
            relevant = java.penstock.json.SchemaInferenceFilter(settings, _time_zone(lines), counter)
        except TypeError:
            pass
        else:
            types = java.org.apache.spark.sql.types.DataTypes
            if JSON_INFERENCE.applies():
                adds = called_for_rows(spark, relevant, "addsToSchema", types.BooleanType, F.col(line))
                text, arrays = text.where(adds), counter
            if folded.get("prefersdecimal") == "true":
                plain = called_for_rows(spark, relevant, "withoutExponents", types.StringType, F.col(line))
                text = text.select(plain.alias(line))
    strings = getattr(text._jdf, "as")(java.org.apache.spark.sql.Encoders.STRING())
    found = java_session(spark).read().options(settings).json(strings).schema()
    columns = StructType.fromJson(json.loads(found.json()))
    if arrays is None:
        return columns, some_begin_as_array(lines, line)
    return columns, arrays.sum() > 0


def _time_zone(frame: DataFrame) -> str:
    return str(frame.sparkSession.conf.get("spark.sql.session.timeZone"))
