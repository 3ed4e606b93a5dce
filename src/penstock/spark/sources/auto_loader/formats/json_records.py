"""JSON files as rows: parsed by JVM expressions, with nothing lost.

The lines are read as text and parsed one by one, because Spark's own JSON source drops fields that the
schema does not know without a trace. A line whose fields are all known takes the short way; only the
others are checked again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own spelling
from pyspark.sql.types import StructType

from penstock.graph.sql.names import literal
from penstock.spark.sources.auto_loader.formats.json_lines import (
    CORRUPT,
    LINE_OPTIONS,
    ParsedLines,
    array_elements,
    folded_paths,
    has_struct,
    parsed_lines,
    unknown_fields_sql,
)
from penstock.spark.sources.auto_loader.formats.text_values import rounded
from penstock.spark.sources.auto_loader.options.read_options import AutoLoaderOptions
from penstock.spark.sources.auto_loader.schema.log import SchemaVersion
from penstock.spark.sources.auto_loader.schema.reports import (
    PATH_SEPARATOR,
    raise_malformed_sql,
    raise_unknown_sql,
    raise_wider_sql,
)
from penstock.spark.sources.auto_loader.schema.sql_text import (
    column,
    file_origin,
    options_map,
    string_array,
    type_ddl,
    with_origin,
)
from penstock.spark.sources.auto_loader.schema.widening import all_found, wider_type_sql

_LINE: Final = "value"
_RECORD: Final = "__penstock_record"
_SECOND_LOOK: Final = "__penstock_second_look"
_FILE: Final = "__penstock_file"
_OF_LINES: Final = (*LINE_OPTIONS, "multiline", "mode", "columnnameofcorruptrecord")


def json_rows(
    lines: DataFrame,
    version: SchemaVersion,
    options: AutoLoaderOptions,
    source_name: str,
    *,
    origin: str | None = file_origin(_FILE),
    keep_blank: bool = False,
) -> DataFrame:
    """Returns the rows of `lines`, a text stream with the partition columns.

    Their columns are those of `version`, the partition columns and, if there is one, the rescued data column.
    A line that is not JSON gives a row of NULLs with the line in the rescued data. `origin` is SQL for a struct that
    says where a record is from. A blank line gives a row only with `keep_blank`.
    """
    corrupt_column = options.reader_option("columnNameOfCorruptRecord", "_corrupt_record")
    data = StructType([field for field in version.columns.fields if field.name != corrupt_column])
    partitions = [column(field.name) for field in version.partitions.fields]
    if version.json_arrays:
        lines = _split_arrays(lines, partitions, options)
    how = parsed_lines(lines, _LINE, _RECORD, data, options.reader_without(LINE_OPTIONS))
    # input_file_name() is not deterministic, which keeps the optimizer from parsing once more in the filter.
    parsed = lines.select(*partitions, _LINE, how.record.alias(_RECORD), F.input_file_name().alias(_FILE))
    look = _SecondLook(_look(data, version, how, options), how.more)
    filtered = parsed.where(_keep(data, options, source_name, look, keep_blank=keep_blank))
    columns = []
    for field in version.columns.fields:
        if field.name == corrupt_column:
            value = look.at_need(f"IF({_MALFORMED}, {_LINE}, NULL)", otherwise="NULL")
        else:
            value = f"{_RECORD}.{column(field.name)}"
            value = value if how.exact else rounded(value, field.dataType)
        columns.append(f"{value} AS {column(field.name)}")
    columns.extend(partitions)
    if options.rescued_column is not None:
        columns.append(f"{_rescued(data, options, look, origin)} AS {column(options.rescued_column)}")
    return filtered.selectExpr(*columns)


@dataclass(frozen=True, slots=True)
class _SecondLook:
    """What is special about a line, which costs more than the line itself: `sql` for it, and for `needed`."""

    sql: str
    needed: str

    def at_need(self, value: str, *, otherwise: str) -> str:
        """Returns SQL for `value`, in which _SECOND_LOOK is what `sql` gives; `otherwise` where that is not needed.

        It is no column of its own, which Spark would write for each line.
        """
        looked = f"element_at(transform(array({self.sql}), {_SECOND_LOOK} -> {value}), 1)"
        return f"CASE WHEN {self.needed} THEN {looked} ELSE {otherwise} END"


_MALFORMED: Final = f"({_SECOND_LOOK}.trailing OR {_SECOND_LOOK}.unknown IS NULL)"
_FITS: Final = f"({_RECORD}.{CORRUPT} IS NULL AND size({_SECOND_LOOK}.rounded) = 0)"


def _split_arrays(lines: DataFrame, partitions: list[str], options: AutoLoaderOptions) -> DataFrame:
    elements = array_elements(lines, _LINE, options.reader_without(LINE_OPTIONS))
    return lines.select(*partitions, F.explode(elements).alias(_LINE))


def _look(data: StructType, version: SchemaVersion, how: ParsedLines, options: AutoLoaderOptions) -> str:
    """SQL for what is special about a line: whether something follows the record, and its fields, see `ParsedLines`."""
    unknown = unknown_fields_sql(_LINE, data, tuple(version.partitions.fieldNames()))
    # Another object on the line, or a text: the parser would take the first and forget the rest.
    alone = f"concat('[', trim(TRAILING ', \\t\\r\\n' FROM {_LINE}), ']')"
    elements = f"from_json({alone}, 'ARRAY<STRING>', {options_map(options.reader_without(_OF_LINES))})"
    trailing = f"({_LINE} RLIKE '\\\\}}[\\\\s,]*[^\\\\s,]' AND coalesce(size({elements}), 0) <> 1)"
    details = f"'rounded', {how.rounded}, 'fields', {how.fields}"
    return f"named_struct('trailing', {trailing}, 'unknown', {unknown}, {details})"


def _keep(
    data: StructType, options: AutoLoaderOptions, source_name: str, look: _SecondLook, *, keep_blank: bool
) -> str:
    """SQL for the filter that drops blank lines, and that fails the batch where the mode asks for it."""
    conditions = []
    if options.fails_on_unknown:
        known = string_array([*folded_paths(data), (options.rescued_column or "").lower()])
        new = f"filter({_SECOND_LOOK}.unknown, p -> NOT array_contains({known}, lower(p)))"
        conditions.append(
            f"CASE WHEN {_MALFORMED} OR size({_SECOND_LOOK}.unknown) = 0 THEN true "
            f"WHEN size({new}) = 0 THEN true ELSE {raise_unknown_sql(source_name, new, _FILE)} END"
        )
    if options.fails_on_wider and (wider := _wider_types(data, options)) is not None:
        conditions.append(
            f"CASE WHEN {_FITS} OR {_MALFORMED} OR size({wider}) = 0 THEN true "
            f"ELSE {raise_wider_sql(source_name, wider, _FILE)} END"
        )
    match options.reader_option("mode", "PERMISSIVE").upper():
        case "DROPMALFORMED":
            conditions.append(f"NOT {_MALFORMED}")
        case "FAILFAST":
            broken = f"{_MALFORMED} OR {_RECORD}.{CORRUPT} IS NOT NULL"
            conditions.append(f"CASE WHEN {broken} THEN {raise_malformed_sql(source_name, _FILE)} ELSE true END")
        case _:
            pass
    not_blank = "true" if keep_blank else f"{_RECORD} IS NOT NULL"
    if not conditions:
        return not_blank
    required = " AND ".join(f"({condition})" for condition in conditions)
    return f"{not_blank} AND {look.at_need(required, otherwise='true')}"


def wider_types(lines: DataFrame, version: SchemaVersion, options: AutoLoaderOptions) -> list[Row]:
    """Returns the wider types that the numbers in `lines` need, each once: `path` and `type` as of `wider_type_sql`."""
    found = _wider_types(version.columns, options)
    if found is None:
        return []
    if version.json_arrays:
        lines = _split_arrays(lines, [], options)
    return lines.selectExpr(f"explode({found}) AS found").selectExpr("found.*").distinct().collect()


def _wider_types(data: StructType, options: AutoLoaderOptions) -> str | None:
    """SQL for the types that columns would need for the numbers of the line; None when no column can be wider."""
    fields = f"CAST(try_parse_json({_LINE}) AS MAP<STRING, VARIANT>)"
    prefers_decimal = options.reader_flag("prefersDecimal", default=False)
    candidates = [
        wider_type_sql(
            f"element_at(fields, {literal(field.name)})", field.dataType, field.name, prefers_decimal=prefers_decimal
        )
        for field in data.fields
    ]
    found = [each for each in candidates if each is not None]
    return f"element_at(transform(array({fields}), fields -> {all_found(found)}), 1)" if found else None


def _rescued(data: StructType, options: AutoLoaderOptions, look: _SecondLook, origin: str | None) -> str:
    """SQL for the rescued data: the fields that found no place in the row, as a JSON object with their origin."""
    keys = [_mismatched(data, options), f"{_SECOND_LOOK}.rounded"]
    if options.keeps_unknown:
        keys.append(f"transform({_SECOND_LOOK}.unknown, p -> substring_index(p, {literal(PATH_SEPARATOR)}, 1))")
    rescued_fields = f"map_filter({_SECOND_LOOK}.fields, (k, x) -> array_contains(concat({', '.join(keys)}), k))"
    fields = f"concat('{{', array_join(map_values({rescued_fields}), ','), '}}')"
    whole = with_origin(f"to_json(named_struct('_corrupt_record', {_LINE}))", origin)
    rescued = f"""CASE WHEN {_MALFORMED} THEN {whole}
        WHEN {_FITS} AND size({_SECOND_LOOK}.unknown) = 0 THEN NULL
        WHEN {_SECOND_LOOK}.fields IS NULL THEN {whole}
        ELSE {with_origin(fields, origin)} END"""
    return look.at_need(rescued, otherwise="NULL")


def _mismatched(data: StructType, options: AutoLoaderOptions) -> str:
    """SQL for the names of the columns whose value in the line does not fit their type."""
    candidates = []
    for field in data.fields:
        lost = f"{_RECORD}.{column(field.name)} IS NULL"
        if has_struct(field.dataType) or field.dataType.typeName() in {"array", "map"}:
            alone = f"concat('{{', element_at({_SECOND_LOOK}.fields, {literal(field.name)}), '}}')"
            ddl = f"{column(field.name)} {type_ddl(field.dataType)}, {CORRUPT} STRING"
            settings = options_map({**options.reader_without(_OF_LINES), "columnNameOfCorruptRecord": CORRUPT})
            lost += f" OR from_json({alone}, {literal(ddl)}, {settings}).{CORRUPT} IS NOT NULL"
        candidates.append(f"IF({lost}, {literal(field.name)}, NULL)")
    if not candidates:
        return "CAST(array() AS ARRAY<STRING>)"
    lost_names = f"array_compact(array({', '.join(candidates)}))"
    return f"IF({_RECORD}.{CORRUPT} IS NULL, CAST(array() AS ARRAY<STRING>), {lost_names})"
