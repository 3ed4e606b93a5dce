"""Which values Spark can compare, and the others as text."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType


def comparable(data_type: DataType) -> bool:
    """Whether Spark can say that two values of the type are equal."""
    match data_type:
        case MapType() | VariantType():
            return False
        case ArrayType():
            return comparable(data_type.elementType)
        case StructType():
            return all(comparable(field.dataType) for field in data_type)
        case _:
            return True


def as_comparable(value: Column, data_type: DataType) -> Column:
    """Returns a value of the type, or a text that is the same for equal ones: maps are equal in any order."""
    return value if comparable(data_type) else sf.to_json(_in_order(value, data_type))


def _in_order(value: Column, data_type: DataType) -> Column:
    """Returns the value with the entries of each map in the order of their keys."""
    if comparable(data_type):
        return value
    match data_type:
        case MapType():
            inner = sf.transform_values(value, lambda _, each: _in_order(each, data_type.valueType))
            return sf.map_from_entries(sf.array_sort(sf.map_entries(inner), _by_key))
        case ArrayType():
            return sf.transform(value, lambda each: _in_order(each, data_type.elementType))
        case StructType():
            fields = [_in_order(value.getField(each.name), each.dataType).alias(each.name) for each in data_type]
            return sf.when(value.isNotNull(), sf.struct(*fields))
        case _:
            return value


def _by_key(one: Column, other: Column) -> Column:
    left, right = one.getField("key"), other.getField("key")
    return sf.when(left < right, -1).when(left > right, 1).otherwise(0)
