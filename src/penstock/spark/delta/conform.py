"""Rows in the columns of their table: values are cast, and columns and fields of structs found by name.

Spark casts a struct by the position of its fields. Delta's streaming sink casts by name, but it plans the batch again
for that, and the counters of the batch are lost. So rows get the columns of their table here, before they are written.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from penstock.graph.elements import TYPE_WIDENING
from penstock.graph.schema.table_schema import Schema
from penstock.graph.schema.type_changes import fits, widens
from penstock.graph.sql.names import quoted
from penstock.spark import _jvm


def conform(frame: DataFrame, schema: Schema, *also: str) -> DataFrame:
    """Returns the columns of `schema` in its order, cast to its types; those that the query lacks are NULL.

    The columns `also` come first, as they are.

    Fields of structs are found by name as columns are, without regard to case. Columns that Delta generates are left
    to it unless the query has them.
    """
    own = {field.name.casefold(): field for field in frame.schema}
    columns = []
    for field, column in zip(spark_schema(schema), schema.columns, strict=True):
        found = own.get(field.name.casefold())
        if found is None and column.generated is not None:
            continue
        metadata = {} if column.comment is None else {"comment": column.comment}
        columns.append(_column(frame, found, field.dataType).alias(field.name, metadata=metadata))
    return frame.select(*map(quoted, also), *columns)


def check_conforms(spark: SparkSession, columns: StructType, schema: Schema) -> None:
    """Checks that rows with these columns can be brought into those of `schema`; nothing is executed.

    Raises:
        AnalysisException: a type that cannot be cast.
    """
    conform(_jvm.local_relation(spark, columns, streaming=False), schema)


def align(frame: DataFrame, stored: StructType, *, widening: bool = False) -> DataFrame:
    """Returns `frame` with the names and types that the table which it is added to has for its columns.

    Columns and fields that the table lacks stay, for Delta to add; fields that the struct of a query lacks are NULL.
    A type whose values do not fit the stored one stays too: with `widening` Delta widens the column, else it refuses
    the rows. Returns `frame` itself where everything is as in the table.
    """
    there = {field.name.casefold(): field for field in stored}
    columns, changed = [], False
    for field in frame.schema:
        target = there.get(field.name.casefold())
        if target is None:
            columns.append(frame[quoted(field.name)])
            continue
        wanted = _merged(target.dataType, field.dataType, widening=widening)
        if target.name == field.name and _nullable(field.dataType) == _nullable(wanted):
            columns.append(frame[quoted(field.name)])
            continue
        changed = True
        columns.append(_column(frame, field, wanted).alias(target.name, metadata=field.metadata))
    return frame.select(*columns) if changed else frame


@dataclass(slots=True)
class TableColumns:
    """The columns of a Delta table, at `path` or of a `name` in Spark's catalog, read when rows first come.

    For one start of a query, whose own columns stay the same: those that others add meanwhile make no difference.
    """

    path: str | None
    name: str | None = None
    _stored: StructType | None = None
    _widening: bool = False

    def align(self, frame: DataFrame) -> DataFrame:
        """Aligns `frame` as the function `align` does; a table that does not exist yet takes any columns."""
        if self._stored is None and (table := self._read(frame.sparkSession)) is not None:
            widening = _jvm.table_snapshot(table).metadata().configuration().get(TYPE_WIDENING)
            self._widening = widening.isDefined() and str(widening.get()).casefold() == "true"
            self._stored = table.schema
        return frame if self._stored is None else align(frame, self._stored, widening=self._widening)

    def _read(self, spark: SparkSession) -> DataFrame | None:
        if self.name is not None and spark.catalog.tableExists(self.name):
            return spark.read.table(self.name)
        if self.path is not None and DeltaTable.isDeltaTable(spark, self.path):
            return spark.read.format("delta").load(self.path)
        return None


def cast_by_name(value: Column, have: DataType, want: DataType) -> Column:
    """Returns `value`, which has the type `have`, in the type `want`.

    Fields of structs, also of those in arrays and maps, are found by name without regard to case; one that `have`
    lacks is NULL, one that `want` lacks is left out.
    """
    if not _moves_fields(have, want):
        return value.cast(_nullable(want))
    match have, want:
        case StructType(), StructType():
            own = {field.name.casefold(): field for field in have}
            fields = []
            for field in want:
                found = own.get(field.name.casefold())
                inner = _null(field.dataType)
                if found is not None:
                    inner = cast_by_name(value.getField(found.name), found.dataType, field.dataType)
                fields.append(inner.alias(field.name))
            return sf.when(value.isNotNull(), sf.struct(*fields))
        case ArrayType(elementType=inside), ArrayType(elementType=outside):
            return sf.transform(value, lambda each: cast_by_name(each, inside, outside))
        case MapType(), MapType():
            keys = sf.transform_keys(value, lambda key, _: cast_by_name(key, have.keyType, want.keyType))
            return sf.transform_values(keys, lambda _, each: cast_by_name(each, have.valueType, want.valueType))
    raise AssertionError("only nested types have fields to move")


def _column(frame: DataFrame, found: StructField | None, kind: DataType) -> Column:
    return _null(kind) if found is None else cast_by_name(frame[quoted(found.name)], found.dataType, kind)


def _null(kind: DataType) -> Column:
    return sf.lit(None).cast(_nullable(kind))


def _moves_fields(have: DataType, want: DataType) -> bool:
    """Whether a struct somewhere in a type has other fields in the other type, or the same ones in another order."""
    match have, want:
        case StructType(), StructType():
            names = [[field.name.casefold() for field in each] for each in (have, want)]
            return names[0] != names[1] or any(
                _moves_fields(one.dataType, other.dataType) for one, other in zip(have, want, strict=True)
            )
        case ArrayType(), ArrayType():
            return _moves_fields(have.elementType, want.elementType)
        case MapType(), MapType():
            return _moves_fields(have.keyType, want.keyType) or _moves_fields(have.valueType, want.valueType)
    return False


def _nullable(kind: DataType) -> DataType:
    """Returns a type in which each value inside may be NULL: Delta enforces what is declared otherwise."""
    match kind:
        case StructType():
            return StructType([StructField(field.name, _nullable(field.dataType)) for field in kind])
        case ArrayType():
            return ArrayType(_nullable(kind.elementType))
        case MapType():
            return MapType(_nullable(kind.keyType), _nullable(kind.valueType))
    return kind


def _merged(stored: DataType, incoming: DataType, *, widening: bool) -> DataType:
    """Returns the type that a stored column has once Delta has added values of type `incoming` to it."""
    match stored, incoming:
        case StructType(), StructType():
            new = {field.name.casefold(): field for field in incoming}
            fields = [
                StructField(field.name, _merged(field.dataType, found.dataType, widening=widening))
                if (found := new.pop(field.name.casefold(), None)) is not None
                else field
                for field in stored
            ]
            return StructType([*fields, *new.values()])
        case ArrayType(), ArrayType():
            return ArrayType(_merged(stored.elementType, incoming.elementType, widening=widening))
        case MapType(), MapType():
            keys = _merged(stored.keyType, incoming.keyType, widening=widening)
            return MapType(keys, _merged(stored.valueType, incoming.valueType, widening=widening))
    before, after = stored.jsonValue(), incoming.jsonValue()
    if widening and widens(before, after):
        return incoming
    return stored if fits(after, before) else incoming


def spark_schema(schema: Schema) -> StructType:
    """Returns the StructType of a schema."""
    return StructType.fromJson(json.loads(schema.json))
