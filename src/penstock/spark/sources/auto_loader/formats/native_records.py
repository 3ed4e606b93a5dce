"""Rows of Spark's own readers: Avro, ORC, Parquet, XML, and whole records as one VARIANT (`singleVariantColumn`)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType, VariantType

from penstock.graph.sql.names import literal
from penstock.spark.sources.auto_loader.options.read_options import AutoLoaderOptions
from penstock.spark.sources.auto_loader.schema.log import SchemaVersion
from penstock.spark.sources.auto_loader.schema.other_types import READERS
from penstock.spark.sources.auto_loader.schema.reports import raise_malformed_sql
from penstock.spark.sources.auto_loader.schema.sql_text import column, whole_record, with_file_path

_CORRUPT: Final = "__penstock_corrupt"
_FILE: Final = "input_file_name()"


NativeRead = Callable[[str, Mapping[str, str], StructType], DataFrame]
"""Spark's own read of the source's files: in a format, with these options and this schema."""


def native_rows(native: NativeRead, version: SchemaVersion, options: AutoLoaderOptions, source_name: str) -> DataFrame:
    """Returns what `native` reads in the columns of `version`, with the rescued data column if there is one."""
    corrupt = _corrupt_column(version, options)
    hidden = [StructField(_CORRUPT, StringType())] if corrupt == _CORRUPT else []
    # What goes to the rescued data is read as well.
    fields = [*version.read_columns().fields, *hidden, *version.others.fields(), *version.partitions.fields]
    reader = READERS[options.format] if version.others.files else options.reader_format
    rows = native(reader, _reader_options(version, options, corrupt), StructType(fields))
    if corrupt is not None and _mode(options) == "FAILFAST":
        fail = raise_malformed_sql(source_name, _FILE)
        rows = rows.where(f"CASE WHEN {column(corrupt)} IS NOT NULL THEN {fail} ELSE true END")
    larger = {field.name: field.dataType for field in version.rescued.fields}
    names = itertools.count()
    values = {
        field.name: _without_more(column(field.name), larger.get(field.name, field.dataType), field.dataType, names)
        for field in version.columns.fields
    }
    columns = [f"{value} AS {column(name)}" for name, value in values.items()]
    columns.extend(column(field.name) for field in version.partitions.fields)
    if options.rescued_column is not None:
        columns.append(f"{_rescued(version, values, corrupt)} AS {column(options.rescued_column)}")
    return rows.selectExpr(*columns)


def _reader_options(version: SchemaVersion, options: AutoLoaderOptions, corrupt: str | None) -> dict[str, str]:
    if corrupt is None:
        return {**options.reader, **(version.others.reader_options() if version.others.files else {})}
    settings = options.reader_without({"mode", "columnnameofcorruptrecord"})
    mode = "DROPMALFORMED" if _mode(options) == "DROPMALFORMED" else "PERMISSIVE"
    return {**settings, "mode": mode, "columnNameOfCorruptRecord": corrupt}


def _corrupt_column(version: SchemaVersion, options: AutoLoaderOptions) -> str | None:
    """The column for records that do not fit, one of the user's if there is one; only XML has records as text."""
    if options.format != "xml":
        return None
    chosen = options.reader_option("columnNameOfCorruptRecord", "_corrupt_record")
    return chosen if chosen in version.columns.fieldNames() else _CORRUPT


def _mode(options: AutoLoaderOptions) -> str:
    return options.reader_option("mode", "PERMISSIVE").upper()


def _without_more(value: str, kind: DataType, wanted: DataType, names: Iterator[int]) -> str:
    """SQL for `value`, of type `kind`, without the fields inside that `wanted` has not."""
    if kind == wanted:
        return value
    inner = f"x{next(names)}"
    match kind, wanted:
        case StructType(), StructType():
            kinds = {field.name: field.dataType for field in kind.fields}
            items = (
                f"{literal(field.name)}, "
                f"{_without_more(f'{value}.{column(field.name)}', kinds[field.name], field.dataType, names)}"
                for field in wanted.fields
            )
            return f"IF({value} IS NULL, NULL, named_struct({', '.join(items)}))"
        case ArrayType(), ArrayType():
            return f"transform({value}, {inner} -> {_without_more(inner, kind.elementType, wanted.elementType, names)})"
        case MapType(), MapType():
            smaller = _without_more(inner, kind.valueType, wanted.valueType, names)
            return f"transform_values({value}, (k{inner}, {inner}) -> {smaller})"
        case _:
            raise AssertionError((kind, wanted))


def _rescued(version: SchemaVersion, values: dict[str, str], corrupt: str | None) -> str:
    items: list[tuple[str, str]] = []
    others = (column(field.name) for field in version.others.fields())
    for field in version.rescued.fields:
        name = column(field.name)
        if field.name in values:  # it is there, and the fields inside of which the schema knows nothing are not
            differs = f"to_json(struct({name} AS v)) <> to_json(struct({values[field.name]} AS v))"
            name = f"IF({differs}, {name}, NULL)"
        items.append((field.name, name))
    items.extend(zip((each.name for each in version.others.columns), others, strict=True))
    document = "CAST(NULL AS STRING)"
    if items:
        present = " OR ".join(f"{value} IS NOT NULL" for _, value in items)
        fields = ", ".join(f"{value} AS {column(name)}" for name, value in items)
        document = f"CASE WHEN {present} THEN {with_file_path(f'to_json(struct({fields}))', _FILE)} END"
    if corrupt is None:
        return document
    return f"IF({column(corrupt)} IS NOT NULL, {whole_record(column(corrupt), _FILE)}, {document})"


def variant_version(options: AutoLoaderOptions, partitions: StructType) -> SchemaVersion:
    """Returns the schema of such a source: never stored, as nothing is inferred."""
    assert options.variant_column is not None
    columns = StructType([StructField(options.variant_column, VariantType())])
    return SchemaVersion(0, columns, partitions, "one VARIANT")


def variant_rows(native: NativeRead, version: SchemaVersion, options: AutoLoaderOptions) -> DataFrame:
    """Returns the value, the partition columns, and the text of what could not be parsed as rescued data."""
    assert options.variant_column is not None
    header = {"header": "true"} if options.format == "csv" else {}  # it gives the names inside the value
    own = {"singleVariantColumn": options.variant_column, "columnNameOfCorruptRecord": _CORRUPT}
    # Spark adds the partition columns itself.
    schema = StructType([*version.columns.fields, StructField(_CORRUPT, StringType())])
    rows = native(options.reader_format, {**header, **options.reader, **own}, schema)
    columns = [column(field.name) for field in (*version.columns.fields, *version.partitions.fields)]
    if options.rescued_column is not None:
        rescued = f"IF({_CORRUPT} IS NULL, NULL, {whole_record(_CORRUPT, _FILE)})"
        columns.append(f"{rescued} AS {column(options.rescued_column)}")
    return rows.selectExpr(*columns)
