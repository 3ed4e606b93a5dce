"""CSV files as rows, columns matched by name.

While all files have one header, Spark's own CSV source reads them and checks the header of each. Once
files of several layouts are mixed, each file is read whole and by its own header (`csv_by_file`).
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - PySpark's own spelling
from pyspark.sql.types import StringType, StructField, StructType

from penstock.graph.sql.names import literal
from penstock.spark.sources.auto_loader.formats.csv_headers import (
    WRITTEN,
    Header,
    csv_dialect,
    header_settings,
    record_settings,
    unambiguous_names,
    value_settings,
)
from penstock.spark.sources.auto_loader.formats.text_values import exact, exact_fields, is_rounded, rounded
from penstock.spark.sources.auto_loader.options.read_options import AutoLoaderOptions
from penstock.spark.sources.auto_loader.schema.log import SchemaVersion
from penstock.spark.sources.auto_loader.schema.reports import raise_malformed_sql, raise_unknown_sql
from penstock.spark.sources.auto_loader.schema.sql_text import (
    column,
    options_map,
    schema_ddl,
    string_array,
    whole_record,
    with_file_path,
)
from penstock.spark.sources.auto_loader.schema.widening import stop_at_wider

_CORRUPT: Final = "__penstock_corrupt"
_FILE: Final = "__penstock_file"
_RAW: Final = "__penstock_raw"
_TEXT: Final = "value"
_TOO_LONG: Final = "exists(slice(tokens, size(header) + 1, size(tokens)), x -> x IS NOT NULL)"

# How much wider than any header seen a later header may be before the flow restarts to make room.
_SPARE_COLUMNS: Final = 32


def same_header_schema(version: SchemaVersion, options: AutoLoaderOptions) -> StructType:
    """Returns the schema under which Spark's CSV source reads files that all have the header in use."""
    kinds = {field.name.casefold(): field for field in version.columns.fields}
    fields = []
    for name in _layout(version):
        known = kinds.get(name.casefold())
        kind = StringType() if known is None else known.dataType
        fields.append(StructField(name, kind if options.rescued_column is None else exact(kind)))
    return StructType([*fields, StructField(_CORRUPT, StringType()), *version.partitions.fields])


def same_header_options(options: AutoLoaderOptions, *, by_name: bool) -> dict[str, str]:
    """Returns the reader options; `by_name` makes Spark fail a file whose header is another one."""
    own = {"header", "enforceschema", "columnpruning", "columnnameofcorruptrecord", "mode"}
    settings = options.reader_without(own)
    header = options.reader_flag("header", default=True)
    settings |= {
        "header": str(header).lower(),
        "columnNameOfCorruptRecord": _CORRUPT,
        "mode": options.reader_option("mode", "PERMISSIVE"),
        "columnPruning": "false",  # with pruning, Spark checks the header only of the columns that are used
    }
    if by_name and header:
        settings["enforceSchema"] = "false"
    return settings


def same_header_rows(
    rows: DataFrame, version: SchemaVersion, options: AutoLoaderOptions, source_name: str
) -> DataFrame:
    """Returns the rows of Spark's CSV source in the columns of `version`, with the rescued data column."""
    layout = {name.casefold(): name for name in _layout(version)}
    if options.fails_on_wider:
        rows = rows.where(_keep_same_header(version, options, source_name))
    columns = []
    for field in version.columns.fields:
        name = layout.get(field.name.casefold())
        if name is None:
            value = f"CAST(NULL AS {field.dataType.simpleString()})"
        else:
            value = column(name) if options.rescued_column is None else rounded(column(name), field.dataType)
        columns.append(f"{value} AS {column(field.name)}")
    columns.extend(column(field.name) for field in version.partitions.fields)
    if options.rescued_column is not None:
        rescued = _rescued_same_header(version, options)
        columns.append(f"{rescued} AS {column(options.rescued_column)}")
    return rows.selectExpr(*columns)


def by_file_rows(files: DataFrame, version: SchemaVersion, options: AutoLoaderOptions, source_name: str) -> DataFrame:
    """Returns the rows of `files` (a text stream of whole files), each file read by its own header."""
    partitions = [column(field.name) for field in version.partitions.fields]
    width = max([len(header) for header in version.csv_headers] + [len(version.columns.fields)]) + _SPARE_COLUMNS
    schema = _texts(width)
    dialect = csv_dialect(files.sparkSession, options)
    values = f"array({', '.join(f'{_RAW}.c{position}' for position in range(width))})"
    # One value more at the end says how many names there are, although the last ones may be empty.
    header = f"concat(get(records, 0), {literal(dialect.separator)}, 'end')"
    parsed = (
        files.selectExpr(*partitions, f"{dialect.records(_TEXT)} AS records")
        .selectExpr(
            *partitions,
            f"from_csv({header}, {schema}, {options_map(header_settings(options))}) AS {_RAW}",
            "slice(records, 2, greatest(size(records) - 1, 0)) AS lines",
        )
        .selectExpr(*partitions, "lines", f"{values} AS named")
        .selectExpr(
            *partitions,
            "lines",
            # An empty name becomes _c<position>, as `unambiguous_names` has it.
            "transform(named, (x, i) -> coalesce(x, concat('_c', i))) AS given",
            "array_max(transform(named, (x, i) -> IF(x IS NULL, 0, i))) AS width",
        )
        .selectExpr(*partitions, "lines", "slice(given, 1, width) AS given", "width")
        .selectExpr(
            *partitions,
            "width",
            "transform(given, (x, i) -> CASE WHEN array_position(transform(given, y -> lower(y)), lower(x)) <> i + 1 "
            "THEN concat(x, i) ELSE x END) AS header",
            "lines",
        )
        .select(*partitions, "width", "header", F.explode("lines").alias("line"))
        .selectExpr("*", f"from_csv(line, {schema}, {options_map(record_settings(options))}) AS {_RAW}")
        .selectExpr(*partitions, "width", "header", "line", f"{values} AS tokens", f"input_file_name() AS {_FILE}")
        .where(_keep_by_file(version, options, source_name, width - 1))
    )
    return _named_columns(parsed, version, options, partitions, source_name)


def _named_columns(
    parsed: DataFrame, version: SchemaVersion, options: AutoLoaderOptions, partitions: list[str], source_name: str
) -> DataFrame:
    by_name = "map_from_arrays(transform(header, x -> lower(x)), slice(tokens, 1, size(header)))"
    with_map = parsed.selectExpr("*", f"{by_name} AS by_name")
    texts = [(field, f"by_name[{literal(field.name.lower())}]") for field in version.columns.fields]
    typed = StructType([field for field in version.columns.fields if not isinstance(field.dataType, StringType)])
    if options.fails_on_wider:
        with_map = with_map.where(stop_at_wider(texts, source_name, _FILE))
    exactly = typed if options.rescued_column is None else exact_fields(typed)
    if typed.fields:
        # The typed columns pass through one more CSV line, so that they are parsed exactly as Spark's source does.
        written = f"to_csv(named_struct({_struct_items(texts, typed)}), {options_map(WRITTEN)})"
        settings = options_map(value_settings(options))
        typed_sql = f"from_csv({written}, {literal(schema_ddl(exactly))}, {settings})"
        with_map = with_map.selectExpr("*", f"{typed_sql} AS typed")
    columns, lost = [], []
    for field, text in texts:
        value = f"typed.{column(field.name)}" if field in typed.fields else text
        if field in typed.fields:
            loses = is_rounded(value, field.dataType) or "false"
            lost.append(f"IF({text} IS NOT NULL AND ({value} IS NULL OR {loses}), {literal(field.name.lower())}, NULL)")
        if options.rescued_column is not None:
            value = rounded(value, field.dataType)
        columns.append(f"{value} AS {column(field.name)}")
    columns.extend(partitions)
    if options.rescued_column is not None:
        columns.append(f"{_rescued_by_file(version, options, lost)} AS {column(options.rescued_column)}")
    return with_map.where(_keep_malformed(options, lost, source_name)).selectExpr(*columns)


def _struct_items(texts: list[tuple[StructField, str]], typed: StructType) -> str:
    return ", ".join(f"{literal(field.name)}, {text}" for field, text in texts if field in typed.fields)


def _keep_by_file(version: SchemaVersion, options: AutoLoaderOptions, source_name: str, width: int) -> str:
    known = string_array(field.name.lower() for field in (*version.columns.fields, *version.partitions.fields))
    new = f"filter(header, x -> NOT array_contains({known}, lower(x)))"
    too_wide = raise_unknown_sql(source_name, f"slice(header, {width}, 1)", _FILE)
    unknown = raise_unknown_sql(source_name, new, _FILE) if options.fails_on_unknown else "true"
    return f"CASE WHEN width >= {width} THEN {too_wide} WHEN size({new}) > 0 THEN {unknown} ELSE true END"


def _keep_malformed(options: AutoLoaderOptions, lost: list[str], source_name: str) -> str:
    """SQL for the filter that the mode asks for: lines that do not fit are dropped, or fail the batch."""
    malformed = f"({_TOO_LONG} OR size(array_compact(array({', '.join(lost)}))) > 0)" if lost else _TOO_LONG
    match options.reader_option("mode", "PERMISSIVE").upper():
        case "DROPMALFORMED":
            return f"NOT {malformed}"
        case "FAILFAST":
            return f"CASE WHEN {malformed} THEN {raise_malformed_sql(source_name, _FILE)} ELSE true END"
        case _:
            return "true"


def _rescued_by_file(version: SchemaVersion, options: AutoLoaderOptions, lost: list[str]) -> str:
    known = string_array(field.name.lower() for field in (*version.columns.fields, *version.partitions.fields))
    candidates = [f"array_compact(array({', '.join(lost)}))"] if lost else []
    if options.keeps_unknown:
        candidates.append(f"filter(transform(header, x -> lower(x)), x -> NOT array_contains({known}, x))")
    keys = f"concat({', '.join(candidates)})" if candidates else "CAST(array() AS ARRAY<STRING>)"
    # The names as the file spells them.
    fields = (
        f"map_filter(map_from_arrays(header, slice(tokens, 1, size(header))), "
        f"(k, x) -> x IS NOT NULL AND array_contains({keys}, lower(k)))"
    )
    whole = whole_record("line", _FILE)
    return f"CASE WHEN {_TOO_LONG} THEN {whole} ELSE {with_file_path(f'to_json({fields})', _FILE)} END"


def _keep_same_header(version: SchemaVersion, options: AutoLoaderOptions, source_name: str) -> str:
    kinds = {field.name.casefold(): field for field in version.columns.fields}
    texts = [
        (kinds[name.casefold()], f"{_RAW}.c{position}")
        for position, name in enumerate(_layout(version))
        if name.casefold() in kinds
    ]
    stop = _with_raw_line(stop_at_wider(texts, source_name, "input_file_name()"), version, options)
    return f"CASE WHEN {_CORRUPT} IS NULL THEN true ELSE {stop} END"


def _with_raw_line(value: str, version: SchemaVersion, options: AutoLoaderOptions) -> str:
    """SQL for `value`, in which _RAW has the values of a line that did not fit, as texts: parsed once for all."""
    schema = _texts(len(_layout(version)) + 1)
    raw = f"from_csv({_CORRUPT}, {schema}, {options_map(record_settings(options))})"
    return f"element_at(transform(array({raw}), {_RAW} -> {value}), 1)"


def _rescued_same_header(version: SchemaVersion, options: AutoLoaderOptions) -> str:
    """SQL: unknown columns, values that do not fit their type, and, for a line with too many values, the line."""
    layout = _layout(version)
    known = {field.name.casefold(): field for field in (*version.columns.fields, *version.partitions.fields)}
    items, losing = [], []
    for position, name in enumerate(layout):
        field = known.get(name.casefold())
        if field is None and options.keeps_unknown:
            items.append(f"{literal(name)}, {column(name)}")
        elif field is not None and not isinstance(field.dataType, StringType):
            text = f"IF({_CORRUPT} IS NOT NULL AND {column(name)} IS NULL, {_RAW}.c{position}, NULL)"
            loses = is_rounded(column(name), field.dataType)
            if loses is not None:  # a column of a line that fits: its text is nowhere, its digits are
                losing.append(f"({column(name)} IS NOT NULL AND {loses})")
                text = f"IF({losing[-1]}, trim(TRAILING '0' FROM CAST({column(name)} AS STRING)), {text})"
            items.append(f"{literal(name)}, {text}")
    whole = whole_record(_CORRUPT, "input_file_name()")
    too_long = f"WHEN {_CORRUPT} IS NOT NULL AND {_RAW}.c{len(layout)} IS NOT NULL THEN {whole}"
    if not items:
        line = _with_raw_line(f"CASE {too_long} ELSE NULL END", version, options)
        return f"CASE WHEN {_CORRUPT} IS NULL THEN NULL ELSE {line} END"
    present = " OR ".join(f"{column(name)} IS NOT NULL" for name in layout if name.casefold() not in known)
    nothing = f"{_CORRUPT} IS NULL" + (f" AND NOT ({present})" if present and options.keeps_unknown else "")
    nothing += "".join(f" AND NOT {loses}" for loses in losing)
    fields = f"map_filter(map({', '.join(items)}), (k, x) -> x IS NOT NULL)"
    rescued = f"CASE {too_long} ELSE {with_file_path(f'to_json({fields})', 'input_file_name()')} END"
    return f"CASE WHEN {nothing} THEN NULL ELSE {_with_raw_line(rescued, version, options)} END"


def _texts(width: int) -> str:
    """SQL for the schema of so many texts: `c0`, `c1` and so on."""
    return literal(", ".join(f"`c{position}` string" for position in range(width)))


def _layout(version: SchemaVersion) -> Header:
    if version.csv_headers:
        return unambiguous_names(version.csv_headers[-1])
    return tuple(version.columns.fieldNames())
